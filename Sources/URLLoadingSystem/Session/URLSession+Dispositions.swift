import Foundation

extension URLSession {
  /// The answer for a task whose earliest begin date has come.
  public enum DelayedRequestDisposition: Int, Sendable {
    /// Send the original request.
    case continueLoading = 0
    /// Send another request, which must be given.
    case useNewRequest = 1
    /// Cancel the task: it ends with `URLError.cancelled`.
    case cancel = 2
  }

  /// How to answer an authentication challenge.
  public enum AuthChallengeDisposition: Int, Sendable {
    /// Use the given credential; nil: go on without one.
    case useCredential = 0
    /// Do as if no delegate had been asked. The credential is ignored.
    case performDefaultHandling = 1
    /// Fail the request. The credential is ignored.
    case cancelAuthenticationChallenge = 2
    /// Skip this protection space and try the next. The credential is ignored.
    case rejectProtectionSpace = 3
  }

  /// How to go on once the response is known and before its body is loaded.
  public enum ResponseDisposition: Int, Sendable {
    /// Cancel the task: it ends with `URLError.cancelled`.
    case cancel = 0
    /// Load the body, as the task was meant to.
    case allow = 1
    /// Turn the task into a download task: `urlSession(_:dataTask:didBecome:)` tells which, and the body goes to its
    /// file.
    case becomeDownload = 2
    /// Turn the task into a stream task: `urlSession(_:dataTask:didBecome:)` tells which.
    case becomeStream = 3
  }
}
