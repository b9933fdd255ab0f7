import Foundation

/// Messages of a download. Every method may be left out. All are called on the run loop of the thread that made the
/// download, in its default mode, `downloadShouldUseCredentialStorage(_:)` at once on that thread.
@available(*, deprecated, message: "Use URLSessionDownloadDelegate.")
@preconcurrency
public protocol NSURLDownloadDelegate: NSObjectProtocol {
  /// The first message: the download is about to begin.
  func downloadDidBegin(_ download: NSURLDownload)

  /// A request is about to be sent: the first one, with nil as `redirectResponse`, or the one that a redirect leads to.
  /// Answer the request to send; nil fails the download with `URLError.cancelled`. Left out: `request`.
  func download(
    _ download: NSURLDownload, willSend request: URLRequest, redirectResponse: URLResponse?
  ) -> URLRequest?

  /// Whether the delegate answers challenges of this space. Otherwise the default handling applies. Left out: false for
  /// server trust and client certificates, true for all others.
  func download(
    _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
  ) -> Bool

  /// A credential is wanted: neither the URL nor the storage has one, or the one that was tried was refused
  /// (`previousFailureCount` of the challenge is above 0). Answer through `challenge.sender`, now or later. Left out: the
  /// default handling applies.
  func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge)

  /// The challenge was cancelled through its sender. The download fails with `URLError.userCancelledAuthentication`.
  func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge)

  /// Whether credentials are taken from the shared storage and kept there. Asked once, while the download is made. Left
  /// out: true.
  func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool

  /// The response's head arrived; the bytes are counted from here on.
  func download(_ download: NSURLDownload, didReceive response: URLResponse)

  /// In place of the message before: a resumed download goes on at `startingByte`, 0 when the server sends all of it
  /// anew.
  func download(_ download: NSURLDownload, willResumeWith response: URLResponse, fromByte startingByte: Int64)

  /// Bytes arrived: as many as were received, before decoding. Several pieces may be told in one call.
  func download(_ download: NSURLDownload, didReceiveDataOfLength length: Int)

  /// The file is encoded, and can be decoded while it arrives. Asked from the outermost encoding inwards, until the
  /// answer is false. Left out: false. `encodingType` is `application/gzip`, `application/macbinary` or
  /// `application/mac-binhex40`.
  func download(_ download: NSURLDownload, shouldDecodeSourceDataOfMIMEType encodingType: String) -> Bool

  /// The destination is not set. Call `setDestination(_:allowOverwrite:)`, now or later: the download waits for it. Left
  /// out: the file gets this name in the folder for temporary files. `filename` is what the server suggests, without
  /// the extensions of encodings that are undone.
  func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String)

  /// The file was made. `path` differs from the destination where that was taken already.
  func download(_ download: NSURLDownload, didCreateDestination path: String)

  /// The last message of a download that is complete, whatever the response's status.
  func downloadDidFinish(_ download: NSURLDownload)

  /// The last message of a download that failed, with a `URLError`.
  func download(_ download: NSURLDownload, didFailWithError error: any Error)
}

@available(*, deprecated)
extension NSURLDownloadDelegate {
  public func downloadDidBegin(_ download: NSURLDownload) {}

  public func download(
    _ download: NSURLDownload, willSend request: URLRequest, redirectResponse: URLResponse?
  ) -> URLRequest? { request }

  public func download(
    _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
  ) -> Bool { protectionSpace.isOfRequests }

  public func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge) {
    challenge.sender?.performDefaultHandling(for: challenge)
  }

  public func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge) {}

  public func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool { true }

  public func download(_ download: NSURLDownload, didReceive response: URLResponse) {}

  public func download(
    _ download: NSURLDownload, willResumeWith response: URLResponse, fromByte startingByte: Int64
  ) {}

  public func download(_ download: NSURLDownload, didReceiveDataOfLength length: Int) {}

  public func download(_ download: NSURLDownload, shouldDecodeSourceDataOfMIMEType encodingType: String) -> Bool {
    false
  }

  public func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {
    let folder = FileManager.default.temporaryDirectory
    download.setDestination(folder.appendingPathComponent(filename, isDirectory: false).path, allowOverwrite: false)
  }

  public func download(_ download: NSURLDownload, didCreateDestination path: String) {}

  public func downloadDidFinish(_ download: NSURLDownload) {}

  public func download(_ download: NSURLDownload, didFailWithError error: any Error) {}
}
