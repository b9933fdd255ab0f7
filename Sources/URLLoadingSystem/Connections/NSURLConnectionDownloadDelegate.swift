import Foundation

/// Messages of connections that load to a file. All are called on the connection's run loop or queue, in order.
///
/// A download that loses its connection goes on by itself where the server can send the rest, as long as each try
/// brings something.
@available(*, deprecated, message: "Use URLSessionDownloadDelegate.")
@preconcurrency
public protocol NSURLConnectionDownloadDelegate: NSURLConnectionDelegate {
  /// Bytes were written to the file. Several writes may be told in one call. `expectedTotalBytes` is 0 when the length
  /// is not known. May be left out.
  func connection(
    _ connection: NSURLConnection, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    expectedTotalBytes: Int64)

  /// A download that broke off goes on behind `totalBytesWritten` bytes; 0 when the server sends all of it anew.
  /// `expectedTotalBytes` is 0 when the length is not known. May be left out.
  func connectionDidResumeDownloading(
    _ connection: NSURLConnection, totalBytesWritten: Int64, expectedTotalBytes: Int64)

  /// The last message of a download that is complete. Move or open the file before returning: what is left of it is then
  /// removed.
  func connectionDidFinishDownloading(_ connection: NSURLConnection, destinationURL: URL)
}

@available(*, deprecated)
extension NSURLConnectionDownloadDelegate {
  public func connection(
    _ connection: NSURLConnection, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    expectedTotalBytes: Int64
  ) {}

  public func connectionDidResumeDownloading(
    _ connection: NSURLConnection, totalBytesWritten: Int64, expectedTotalBytes: Int64
  ) {}
}
