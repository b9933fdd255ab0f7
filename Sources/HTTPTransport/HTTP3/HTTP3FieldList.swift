#if HTTP3
import CQUIC
import NIOHPACK

/// A list of fields as the state machine in C takes it.
package enum HTTP3FieldList {
  /// Cookies are cut into crumbs (RFC 9114 §4.2.1). They are kept out of the table of the compression, as what proves who is
  /// there (RFC 9204 §7.1.3).
  package static func withFields<Result>(
    _ fields: HPACKHeaders, _ body: (UnsafeBufferPointer<cquic_field>) -> Result
  ) -> Result {
    var text: [UInt8] = []
    var places: [(name: Range<Int>, value: Range<Int>, isSecret: Bool)] = []
    places.reserveCapacity(fields.count)
    func add(_ name: String, _ value: some StringProtocol, isSecret: Bool) {
      let start = text.count
      text.append(contentsOf: name.utf8)
      let middle = text.count
      text.append(contentsOf: value.utf8)
      places.append((start..<middle, middle..<text.count, isSecret))
    }
    for (name, value, indexing) in fields {
      guard name == "cookie" else {
        add(name, value, isSecret: indexing == .neverIndexed)
        continue
      }
      for crumb in value.split(separator: "; ", omittingEmptySubsequences: false) {
        add(name, crumb, isSecret: true)
      }
    }
    return text.withUnsafeBufferPointer { bytes in
      let list = places.map { place in
        var field = cquic_field()
        field.name = bytes.baseAddress.map { $0 + place.name.lowerBound }
        field.name_length = place.name.count
        field.value = bytes.baseAddress.map { $0 + place.value.lowerBound }
        field.value_length = place.value.count
        field.is_secret = place.isSecret ? 1 : 0
        return field
      }
      return list.withUnsafeBufferPointer(body)
    }
  }
}
#endif
