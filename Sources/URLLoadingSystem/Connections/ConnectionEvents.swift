import Foundation

/// Tells a connection's delegate of what happens to its task. Called on the connection's run loop or queue.
@available(*, deprecated)
final class ConnectionEvents: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  private let connection: NSURLConnection

  init(_ connection: NSURLConnection) { self.connection = connection }

  // MARK: Requests

  /// The request is about to be sent for the first time.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) {
    let answer = connection.tell { delegates in
      guard let data = delegates.data else { return request as URLRequest? }
      return data.connection(connection, willSend: request, redirectResponse: nil)
    }
    guard let next = answer ?? nil else { return completionHandler(.cancel, nil) }
    completionHandler(.useNewRequest, next)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    let answer = connection.tell { delegates in
      guard let data = delegates.data else { return request as URLRequest? }
      return data.connection(connection, willSend: request, redirectResponse: response)
    }
    completionHandler(answer ?? nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    let request = task.presentRequest ?? connection.originalRequest
    let answer = connection.tell { delegates in
      guard let data = delegates.data else { return connection.repeatedBody() }
      return data.connection(connection, needNewBodyStream: request)
    }
    completionHandler(answer ?? nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    _ = connection.tell {
      $0.data?.connection(
        connection, didSendBodyData: Int(bytesSent), totalBytesWritten: Int(totalBytesSent),
        totalBytesExpectedToWrite: Int(totalBytesExpectedToSend))
    }
  }

  // MARK: Challenges

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let connection = self.connection
    let sender = OlderChallengeSender(completionHandler) { connection.cancelled($0) }
    let asked = URLAuthenticationChallenge(authenticationChallenge: challenge, sender: sender)
    let isAsked: Bool? = connection.tell { delegates in
      guard let delegate = delegates.delegate else { return false }
      delegate.connection(connection, willSendRequestFor: asked)
      return true
    }
    if isAsked == false { sender.performDefaultHandling(for: asked) }
  }

  // MARK: The response

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    _ = connection.tell { $0.data?.connection(connection, didReceive: response) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    _ = connection.tell { $0.data?.connection(connection, didReceive: data) }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    let answer = connection.tell { delegates in
      guard let data = delegates.data else { return proposedResponse as CachedURLResponse? }
      return data.connection(connection, willCacheResponse: proposedResponse)
    }
    completionHandler(answer ?? nil)
  }

  // MARK: Downloads

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    _ = connection.tell {
      $0.download?.connection(
        connection, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
        expectedTotalBytes: max(0, totalBytesExpectedToWrite))
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    _ = connection.tell {
      $0.download?.connectionDidResumeDownloading(
        connection, totalBytesWritten: fileOffset, expectedTotalBytes: max(0, expectedTotalBytes))
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    connection.end { $0.download?.connectionDidFinishDownloading(connection, destinationURL: location) }
  }

  // MARK: The end

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let error else { return connection.end { $0.data?.connectionDidFinishLoading(connection) } }
    if let error = error as? URLError {
      if connection.resume(after: error, in: session) { return }
      // No call of this API goes on with the file.
      if let file = error.resumeFile { TemporaryFile.remove(file) }
    }
    connection.fail(with: error)
  }
}

extension Error {
  /// The error as connections tell it: without resume data, which they do not take, and with the code of a challenge
  /// that the app cancelled.
  func ofConnection(_ hasCancelledChallenge: Bool) -> any Error {
    guard let error = self as? URLError else { return self }
    var userInfo = error.userInfo
    userInfo[NSURLSessionDownloadTaskResumeData] = nil
    let code = hasCancelledChallenge && error.code == .cancelled ? .userCancelledAuthentication : error.code
    return URLError(code, userInfo: userInfo)
  }
}
