import Foundation

extension URLSessionTaskDelegate {
  public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
    DelegateCapabilities.noteMissing(.didCreateTask, of: self)
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.delayedRequest, of: self)
    Task {
      let (disposition, request) = await urlSession(session, task: task, willBeginDelayedRequest: request)
      completionHandler(disposition, request)
    }
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
  ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
    DelegateCapabilities.noteMissing(.delayedRequestAsync, of: self)
    return (.continueLoading, nil)
  }

  public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
    DelegateCapabilities.noteMissing(.waitingForConnectivity, of: self)
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.redirection, of: self)
    Task {
      completionHandler(
        await urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request))
    }
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) async -> URLRequest? {
    DelegateCapabilities.noteMissing(.redirectionAsync, of: self)
    return request
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.taskChallenge, of: self)
    Task {
      let (disposition, credential) = await urlSession(session, task: task, didReceive: challenge)
      completionHandler(disposition, credential)
    }
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    DelegateCapabilities.noteMissing(.taskChallengeAsync, of: self)
    return (.performDefaultHandling, nil)
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.newBodyStream, of: self)
    Task { completionHandler(await urlSession(session, needNewBodyStreamForTask: task)) }
  }

  public func urlSession(
    _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask
  ) async -> InputStream? {
    DelegateCapabilities.noteMissing(.newBodyStreamAsync, of: self)
    return nil
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
    completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    DelegateCapabilities.noteMissing(.newBodyStreamFrom, of: self)
    Task { completionHandler(await urlSession(session, needNewBodyStreamForTask: task, from: offset)) }
  }

  public func urlSession(
    _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
  ) async -> InputStream? {
    DelegateCapabilities.noteMissing(.newBodyStreamFromAsync, of: self)
    return nil
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    DelegateCapabilities.noteMissing(.didSendBodyData, of: self)
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
  ) {
    DelegateCapabilities.noteMissing(.informationalResponse, of: self)
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    DelegateCapabilities.noteMissing(.metrics, of: self)
  }

  public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    DelegateCapabilities.noteMissing(.didComplete, of: self)
  }
}
