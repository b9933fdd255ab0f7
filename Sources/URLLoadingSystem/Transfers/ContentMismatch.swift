import Foundation
import TransferProtocol

/// In what a download was not its task's ``URLSessionDownloadTask/expectedContent``.
///
/// The task fails with `URLError.cannotDecodeContentData`, whose sentence says the same, and whose `contentMismatch` is
/// this. Not part of Apple's API.
public enum ContentMismatch: Error, Sendable, Hashable {
  /// The file has another SHA-256; both are 32 bytes.
  case sha256(expected: Data, received: Data)
  /// The file has another length, or the server announced another one. In bytes; `received` is what had arrived or was
  /// announced when that was seen.
  case byteCount(expected: Int64, received: Int64)
  /// The server answered with this HTTP status in place of the file.
  case status(Int)
}

extension ContentMismatch {
  var sentence: String {
    switch self {
    case .sha256(let expected, let received):
      "The file is not the expected one: its SHA-256 is \(received.hexadecimal), and \(expected.hexadecimal) was expected."
    case .byteCount(let expected, let received):
      "The file is not the expected one: it has \(received) bytes, and \(expected) were expected."
    case .status(let status):
      "The server answered \(status) and did not send the expected file."
    }
  }

  var urlError: URLError {
    URLError(
      .cannotDecodeContentData, userInfo: [NSLocalizedDescriptionKey: sentence, NSUnderlyingErrorKey: self])
  }

  package var description: MismatchDescription {
    var description = MismatchDescription()
    switch self {
    case .sha256(let expected, let received):
      (description.expectedSHA256, description.receivedSHA256) = (expected, received)
    case .byteCount(let expected, let received):
      (description.expectedByteCount, description.receivedByteCount) = (expected, received)
    case .status(let status): description.status = status
    }
    return description
  }

  /// nil for a description of a newer service.
  package init?(_ description: MismatchDescription) {
    if let expected = description.expectedSHA256, let received = description.receivedSHA256 {
      self = .sha256(expected: expected, received: received)
    } else if let expected = description.expectedByteCount, let received = description.receivedByteCount {
      self = .byteCount(expected: expected, received: received)
    } else if let status = description.status {
      self = .status(status)
    } else {
      return nil
    }
  }
}

extension URLError {
  /// In what a download was not the expected file; nil when that was not why it failed. Not part of Apple's API.
  public var contentMismatch: ContentMismatch? { userInfo[NSUnderlyingErrorKey] as? ContentMismatch }
}
