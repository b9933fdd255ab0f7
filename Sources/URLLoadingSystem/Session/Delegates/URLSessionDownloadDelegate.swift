import Foundation

/// Messages of download tasks that have neither a completion handler nor an `async` call behind them.
@preconcurrency
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
  /// The download is complete. Move or open the file before returning: what is left at `location` is then removed.
  /// `urlSession(_:task:didCompleteWithError:)` follows.
  ///
  /// In a background session an app that dies before its methods have returned is told again in its next life, and given
  /// the same file. So move the file, and change its content only once it was moved and both methods have returned, or
  /// change a copy.
  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)

  /// Bytes were written to the file. Several writes may be told in one call. `totalBytesExpectedToWrite` is
  /// `NSURLSessionTransferSizeUnknown` (-1) when the length is not known.
  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)

  /// A download made from resume data goes on at `fileOffset`; 0 when the server sent all of it anew.
  /// `expectedTotalBytes` is `NSURLSessionTransferSizeUnknown` (-1) when the length is not known.
  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64)
}

extension URLSessionDownloadDelegate {
  public func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    DelegateCapabilities.noteMissing(.didWriteData, of: self)
  }

  public func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    DelegateCapabilities.noteMissing(.didResume, of: self)
  }
}
