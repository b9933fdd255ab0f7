/// The limits of a server (`Upload-Limit`). nil means that it does not say.
package struct UploadLimit: Sendable, Equatable {
  package var maximumSize: Int64?
  package var maximumAppendSize: Int64?

  package init(_ field: String?) {
    let members = field.flatMap { StructuredField.sizes($0) } ?? [:]
    maximumSize = members["max-size"]
    // A limit of 0 would make every part empty, so it is ignored.
    maximumAppendSize = members["max-append-size"].flatMap { $0 > 0 ? $0 : nil }
  }
}
