import Foundation
import SystemServices

/// The message on the desktop that a download or an upload in the background is over.
struct DownloadNotification: Sendable, Equatable {
  let summary: String
  let body: String
  let isFailure: Bool

  /// nil for a transfer that is not over, that was cancelled, or whose end the user does not want shown.
  init?(_ record: DownloadRecord) {
    guard record.notifies == true, record.finished != nil else { return nil }
    let place = record.path ?? (record.destination.isFolder ? nil : record.destination.path)
    let name =
      place.map { ($0 as NSString).lastPathComponent }
      ?? URL(string: record.url).flatMap { $0.lastPathComponent.isEmpty ? $0.host : $0.lastPathComponent } ?? record.url
    let failed = record.isUpload == true ? "Could not send \(name)" : "Could not download \(name)"
    switch record.outcome {
    case .queued, .placing, .cancelled: return nil
    case .saved where record.isUpload == true:
      summary = "Sent \(name)"
      body = URL(string: record.url)?.host.map { "To \($0)" } ?? ""
      isFailure = false
    case .saved:
      summary = "Downloaded \(name)"
      body = place.map { "In \(($0 as NSString).deletingLastPathComponent)" } ?? ""
      isFailure = false
    case .savedElsewhere:
      summary = "Downloaded \(name) to another place"
      body = "It is safe at \(place ?? "another place"): \(record.message ?? "the destination can't be written")"
      isFailure = true
    case .httpError:
      summary = failed
      body = "The server answered with the status \(record.httpStatus ?? 0)."
      isFailure = true
    case .failed:
      summary = failed
      body = record.message ?? ""
      isFailure = true
    }
  }

  /// Shows it where there is a desktop. May take seconds.
  static func show(_ record: DownloadRecord, on desktop: DesktopNotifications? = DesktopNotifications()) {
    guard let desktop, let notification = DownloadNotification(record) else { return }
    desktop.show(
      notification.summary, body: notification.body, program: "urlsession",
      icon: notification.isFailure ? "dialog-warning" : "emblem-downloads")
  }

  /// The setting of the user: all but `URLSESSION_NOTIFY=0` wants them.
  static func isWanted(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
    environment["URLSESSION_NOTIFY"] != "0"
  }
}
