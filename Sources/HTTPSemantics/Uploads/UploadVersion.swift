/// A version of the resumable upload protocol, by its interoperability number (draft-ietf-httpbis-resumable-upload).
package struct UploadVersion: Sendable, Equatable, Comparable {
  package let number: Int

  /// The version that requests name unless the app or the server says otherwise: the version that Apple's systems send,
  /// and the newest that servers understand which refuse the ones they do not know.
  package static let preferred = UploadVersion(known: 6)

  /// 3 is the draft's 01 and 02; 4 and 5 are 02 to 04; 6 is 04 and 05; 7 and 8 are the later ones.
  private static let known = 3...8

  private init(known number: Int) { self.number = number }

  /// nil for versions that are not spoken here.
  package init?(_ field: String) {
    guard let number = StructuredField.size(field), UploadVersion.known.contains(Int(clamping: number)) else {
      return nil
    }
    self.number = Int(number)
  }

  package static func < (one: UploadVersion, other: UploadVersion) -> Bool { one.number < other.number }

  /// Fields of the request that begins an upload and means to send all of it.
  package var creationFields: HTTPFields { fields(isComplete: true) }

  /// Fields of a request for how much the server has.
  package var offsetFields: HTTPFields { HTTPFields(["Upload-Draft-Interop-Version": String(number)]) }

  /// Fields of a request that sends more.
  package func appendFields(offset: Int64, isComplete: Bool) -> HTTPFields {
    var fields = fields(isComplete: isComplete)
    fields.append("Upload-Offset", String(offset))
    // From 6 on the media type is demanded; earlier versions do not mind it.
    fields.append("Content-Type", "application/partial-upload")
    return fields
  }

  private func fields(isComplete: Bool) -> HTTPFields {
    var fields = offsetFields
    // Version 3 says the opposite under another name.
    if number <= 3 {
      fields.append("Upload-Incomplete", isComplete ? "?0" : "?1")
    } else {
      fields.append("Upload-Complete", isComplete ? "?1" : "?0")
    }
    return fields
  }
}
