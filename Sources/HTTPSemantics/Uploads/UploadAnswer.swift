/// What a server says about an upload, in an interim response, in the answer to HEAD, or in a final one.
package struct UploadAnswer: Sendable, Equatable {
  /// nil when the server does not say, or says one that is not spoken here.
  package var version: UploadVersion?
  /// Where the upload is, as sent: may be relative.
  package var location: String?
  package var offset: Int64?
  /// Whether the server has everything.
  package var isComplete: Bool?
  package var limit: UploadLimit

  package init(_ fields: HTTPFields) {
    func one(_ name: String) -> String? {
      let values = fields.values(name)
      guard let first = values.first, values.allSatisfy({ $0 == first }) else { return nil }
      return first
    }
    version = one("Upload-Draft-Interop-Version").flatMap { UploadVersion($0) }
    location = one("Location")
    offset = one("Upload-Offset").flatMap { StructuredItem.integer($0) }
    isComplete =
      one("Upload-Complete").flatMap { StructuredItem.boolean($0) }
      ?? one("Upload-Incomplete").flatMap { StructuredItem.boolean($0) }.map { !$0 }
    limit = UploadLimit(fields["Upload-Limit"])
  }
}

/// What a server allows (`Upload-Limit`). nil means that it does not say.
package struct UploadLimit: Sendable, Equatable {
  package var maximumSize: Int64?
  package var maximumAppendSize: Int64?

  package init(_ field: String?) {
    let members = field.flatMap { StructuredItem.integers($0) } ?? [:]
    maximumSize = members["max-size"]
    // Nothing could ever be sent in parts of nothing.
    maximumAppendSize = members["max-append-size"].flatMap { $0 > 0 ? $0 : nil }
  }
}

/// What to do after the answer to the question how much the server has.
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
    // 423: another request is still being worked on. The rest is what passes (RFC 9110 §15.6).
    case 408, 423, 429, 500, 502, 503, 504: return .later
    default: return .impossible("The server does not know the upload any more (status \(status)).")
    }
  }
}
