import Foundation
import URLLoadingSystem

/// A download or an upload that is to be handed over to the transfer service.
struct BackgroundOrder {
  var request: URLRequest
  var destination: Destination
  var priority: Float
  var login: DownloadLogin?
  /// The file to send, which is then the destination's path too; nil for a download.
  var file: String?
  /// Whether it can wait for good conditions.
  var isDiscretionary = false
  /// Whether the desktop is told of the end.
  var notifies = false
  /// Whether this process tells it when the end comes here, and not to a process that the service starts.
  var showsEnd = true
  /// nil: as the transfer service does by itself.
  var retry: RetryChoice?
  /// Whether there is nothing besides the URL and `retry`: no field, login or other option.
  var isOfURLAlone = false
  /// Of an earlier download of the same URL, whose bytes it begins with; nil: there is none.
  var resumeData: Data?
  /// Sets more of the task before it is handed over.
  var prepare: (URLSessionTask) -> Void = { _ in }
}
