/// A server's statement about an upload, in an interim response, in the answer to HEAD, or in a final one.
package struct UploadAnswer: Sendable, Equatable {
  /// nil when the server does not say, or says one that is not spoken here.
  package var version: UploadVersion?
  /// The URL of the upload, as sent: may be relative.
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
    offset = one("Upload-Offset").flatMap { StructuredField.size($0) }
    isComplete =
      one("Upload-Complete").flatMap { StructuredField.boolean($0) }
      ?? one("Upload-Incomplete").flatMap { StructuredField.boolean($0) }.map { !$0 }
    limit = UploadLimit(fields["Upload-Limit"])
  }
}
