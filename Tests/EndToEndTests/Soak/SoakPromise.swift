import Foundation

/// A task that the service has promised to an app.
struct SoakPromise: Sendable {
  let label: String
  let path: String
  let isUpload: Bool
  /// It does not run until the app resumes it.
  var isSuspended: Bool
  /// A queue that is made again may have it as it was once.
  var wasSuspended = false
  /// It may end as a cancelled task, or as it would have.
  var isCancelled = false

  /// Whether the task may end like that.
  func allows(_ end: SoakLog.End) -> Bool {
    if let error = end.error { return isCancelled && error == URLError.Code.cancelled.rawValue }
    return (200..<300).contains(end.status ?? 0)
  }
}
