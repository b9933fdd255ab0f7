import Foundation
import HTTPSemantics
import TransferProtocol

/// Decides which tasks the service takes.
enum TaskAdmission {
  static func admit(_ description: TransferDescription, encoded: Data) throws -> TransferStore.NewTransfer {
    guard !description.token.isEmpty, description.taskIdentifier > 0, description.taskIdentifier < .max else {
      throw Refusal(.invalidRequest, "A task needs a token and a task identifier of 1 or more.")
    }
    try checkUpload(description)
    guard description.expectation?.isSound ?? true, description.retry?.isSound ?? true else {
      throw Refusal(
        .invalidRequest,
        "A SHA-256 has 32 bytes, a length is 0 or more, and a transfer is tried once or more, after pauses of 0 s or more."
      )
    }
    guard description.expectation == nil || description.kind == .download else {
      throw Refusal(.invalidRequest, "Only a download can be compared with what is expected.")
    }
    try checkBody(of: description)
    try checkLength(of: description, encoded: encoded)
    var new = TransferStore.NewTransfer(description, host: hostName(description.request.url))
    new.encoded = encoded
    if let point = description.resumePoint {
      new.validator = ResumeValidator(
        entityTag: point.entityTag, lastModified: point.lastModified, isLastModifiedStrong: isStrong(point))
    }
    return new
  }

  static func checkBody(of description: TransferDescription) throws {
    guard (description.request.body?.count ?? 0) <= RequestDescription.maximumBodyLength else {
      throw Refusal(
        .tooLarge, "The body of a download request may have \(RequestDescription.maximumBodyLength) bytes at most.")
    }
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

  /// The host of a URL for limits, in lower case: all ports of a machine are one host. Empty when there is none.
  static func hostName(_ url: String) -> String {
    let host = URL(string: url)?.host?.lowercased() ?? ""
    // The same name, written in full.
    return host.hasSuffix(".") ? String(host.dropLast()) : host
  }
}
