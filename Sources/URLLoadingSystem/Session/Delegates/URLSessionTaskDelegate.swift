import Foundation

/// Messages about tasks of every kind. Every method may be left out.
///
/// A task's own `delegate` is asked first; what it leaves out goes to the session's delegate, method by method. All
/// methods except `urlSession(_:didCreateTask:)` are called on the session's `delegateQueue`, in order.
///
/// Tasks with a completion handler and tasks behind the `async` calls send all of these except
/// `urlSession(_:task:didCompleteWithError:)`: their end is reported by the handler or the call.
@preconcurrency
public protocol URLSessionTaskDelegate: URLSessionDelegate {
  /// The first message of a task, called inside the factory on the thread that called it, so that the task can be
  /// set up before it is resumed.
  func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

  /// A task with an `earliestBeginDate` is about to begin. Left out: it begins with its request.
  ///
  /// With `.useNewRequest` the new request's network access flags are ignored: the original's stay. In a background session
  /// only a process that holds the session is asked, and a task without an answer begins with its request after 60 seconds.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)

  /// The `async` form of `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
  ) async -> (URLSession.DelayedRequestDisposition, URLRequest?)

  /// The network cannot be reached and the session waits for it instead of failing. At most once a task.
  func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

  /// The server redirects. Answer the request to follow with, or nil to take the redirect's own response as the
  /// result. Left out: the redirect is followed.
  ///
  /// The body that an upload task was made with is not in `request` and goes along with the answer, unless that has a
  /// body or a stream of its own or was changed to GET or HEAD. Of other tasks the answer's body is sent. Redirects to
  /// other schemes than http and https are told, too, and fail with `URLError.unsupportedURL` unless the answer is nil
  /// or leads elsewhere.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)

  /// The `async` form of `urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)`.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) async -> URLRequest?

  /// The server or a proxy asks for a credential for this request. Left out: the default handling applies.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

  /// The `async` form of `urlSession(_:task:didReceive:completionHandler:)`.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

  /// A fresh, unopened stream of the request's body is needed: at the start of a streamed upload, and whenever a
  /// streamed body must be sent again. nil fails the task with `URLError.requestBodyStreamExhausted`.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)

  /// The `async` form of `urlSession(_:task:needNewBodyStream:)`.
  func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

  /// A streamed upload is resumed: a stream is needed that begins `offset` bytes into the body.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
    completionHandler: @escaping @Sendable (InputStream?) -> Void)

  /// The `async` form of `urlSession(_:task:needNewBodyStreamFrom:completionHandler:)`.
  func urlSession(
    _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
  ) async -> InputStream?

  /// Body bytes were sent. Several sends may be told in one call. `totalBytesExpectedToSend` is -1 when the body's
  /// length is not known.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)

  /// A response with a 1xx status other than 101 arrived before the final one (RFC 9110 §15.2).
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse)

  /// Tells the record of the task's work on the wire. Comes right before the task's end is reported.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

  /// The task's last message. `error` is a `URLError`; nil when a response was received in full, whatever its status.
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}
