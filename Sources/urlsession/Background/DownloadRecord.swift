import Foundation
import TransferProtocol

/// The record that this program keeps of a background download beyond what the transfer service does: where the file
/// was to go and where it went.
struct DownloadRecord: Codable, Sendable, Equatable {
  enum Outcome: String, Codable, Sendable {
    /// With the service.
    case queued
    /// Complete, on its way to `path`.
    case placing
    /// At `path`, as asked.
    case saved
    /// At `path`, because the destination could not take it; `message` says why.
    case savedElsewhere
    /// The server answered with another status than 2xx, or with a part where the whole was asked for; nothing was kept.
    case httpError
    case failed
    case cancelled

    var isFinal: Bool { self != .queued && self != .placing }
  }

  /// The identifier of the background session, which has this one task.
  var session: String
  /// The service's number.
  var transfer: Int64?
  var url: String
  var destination: Destination
  var outcome = Outcome.queued
  var path: String?
  var httpStatus: Int?
  var bytes: Int64?
  var message: String?
  var errorDomain: String?
  var errorCode: Int?
  /// Whether the keychain has the download's password.
  var hasLogin: Bool?
  /// Whether it sends a file, which is then the destination. nil: no.
  var isUpload: Bool?
  /// Whether the desktop shows the end; nil: not.
  var notifies: Bool?
  /// Whether its request is a GET of the URL with nothing besides `retry`, so that this record is enough to begin it again.
  /// nil: no.
  var isOfURLAlone: Bool?
  /// nil: as the transfer service does by itself.
  var retry: RetryChoice?
  /// For the bytes that a download had when it failed; nil where there are none.
  var resumeData: Data?
  /// The number of the transfer that took its place when it was tried again; nil where there is none.
  var begunAgainAs: Int64?
  var created: Date
  var finished: Date?

  /// Of the error of a transfer that the service does not have any more.
  static let lostDomain = "urlsession.lost"

  var isLost: Bool { outcome == .failed && errorDomain == DownloadRecord.lostDomain }

  /// The same of a transfer that is with the service after all.
  var found: DownloadRecord {
    guard isLost else { return self }
    var record = self
    record.outcome = .queued
    (record.finished, record.message, record.errorDomain, record.errorCode) = (nil, nil, nil, nil)
    return record
  }

  /// Whether `retry` can begin it again once it is over without its file.
  var canBeginAgain: Bool { isOfURLAlone == true && begunAgainAs == nil && isUpload != true }

  /// After a change of its request: one that is more than a URL is not made again from the record.
  func edited(_ edit: EditTransfer) -> DownloadRecord {
    var record = self
    if let url = edit.url {
      record.url = PasswordURL(url).url
      if record.url != url { record.isOfURLAlone = nil }
    }
    var rest = edit
    rest.url = nil
    if rest != EditTransfer(transfer: edit.transfer) { record.isOfURLAlone = nil }
    return record
  }

  init(session: String, url: String, destination: Destination, created: Date = Date()) {
    self.session = session
    self.url = url
    self.destination = destination
    self.created = created
  }
}
