import Foundation
import HTTPSemantics
import TransferProtocol

/// Decides which tasks the service takes.
enum TaskAdmission {
  static func admit(_ description: TransferDescription, encoded: Data) throws -> TransferStore.NewTransfer {
    guard !description.token.isEmpty, description.taskIdentifier > 0, description.taskIdentifier < .max else {
      throw Refusal(.invalidRequest, "A task needs a token and a task identifier of 1 or more.")
    }
    guard description.kind == .download else { throw Refusal(.unsupported, "This service has no uploads yet.") }
    guard (description.request.body?.count ?? 0) <= RequestDescription.maximumBodyLength else {
      throw Refusal(
        .tooLarge, "The body of a download request may have \(RequestDescription.maximumBodyLength) bytes at most.")
    }
    try checkLength(of: description, encoded: encoded)
    var new = TransferStore.NewTransfer(description, host: hostKey(description.request.url))
    new.encoded = encoded
    if let point = description.resumePoint {
      new.validator = ResumeValidator(
        entityTag: point.entityTag, lastModified: point.lastModified, isLastModifiedStrong: isStrong(point))
    }
    return new
  }

  /// A task is told in one message, whole, whatever a page may be cut down to. So no description may come near the
  /// longest message.
  static func checkLength(of description: TransferDescription, encoded: Data) throws {
    // Base64.
    let body = ((description.request.body?.count ?? 0) + 2) / 3 * 4
    guard encoded.count - body <= TransferDescription.maximumLength else {
      throw Refusal(
        .tooLarge,
        "A task may be described by \(TransferDescription.maximumLength) bytes at most, its body aside: URL, headers and "
          + "task description together.")
    }
  }

  /// RFC 9110 §8.8.2.2: a date stands for the bytes when it lies before that of the response.
  private static func isStrong(_ point: ResumePoint) -> Bool {
    guard let modified = point.lastModified.flatMap({ HTTPDate.parse($0) }),
      let date = point.serverDate.flatMap({ HTTPDate.parse($0) })
    else { return false }
    return modified < date
  }

  /// The name of a host for limits: `https://example.com:443`.
  static func hostKey(_ url: String) -> String {
    guard let url = URL(string: url), let host = url.host?.lowercased() else { return "" }
    let scheme = url.scheme?.lowercased() ?? ""
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }
}
