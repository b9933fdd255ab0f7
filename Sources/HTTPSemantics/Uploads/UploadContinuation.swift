/// The next step after the server has said how much of an upload it has.
package enum UploadContinuation: Sendable, Equatable {
  case append(from: Int64)
  /// The server has all of it; its answer to the upload itself is lost.
  case complete
  /// The upload is gone, or can't be what was being sent.
  case impossible(String)
  /// The server can't tell now.
  case later

  /// - Parameter length: Of the whole; nil when it is not known.
  package static func decide(status: Int, answer: UploadAnswer, length: Int64?) -> UploadContinuation {
    switch status {
    case 200..<300:
      if answer.isComplete == true { return .complete }
      guard let offset = answer.offset else { return .impossible("The server does not say how much it has.") }
      if let length, offset > length { return .impossible("The server says that it has more than there is.") }
      if let maximum = answer.limit.maximumSize, let length, length > maximum {
        return .impossible("The server takes \(maximum) bytes at most.")
      }
      return .append(from: offset)
    // 423: another request is still being worked on. The rest is what passes (RFC 9110 §15.5.9, RFC 6585 §4,
    // RFC 9110 §15.6).
    case 408, 423, 429, 500...599: return .later
    default: return .impossible("The server does not know the upload any more (status \(status)).")
    }
  }
}
