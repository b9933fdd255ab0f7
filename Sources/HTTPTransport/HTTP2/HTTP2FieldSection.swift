import HTTPSemantics
import NIOHPACK

/// The field list of a header block, with what has been found out about it.
package struct HTTP2FieldSection: Sendable {
  package let list: HPACKHeaders
  /// Bytes without compression, as RFC 9113 §6.5.2 counts them.
  let size: Int
  /// The list as the head of a response; nil where it is none.
  package let head: HTTPResponseHead?

  package init(_ list: HPACKHeaders) {
    self.list = list
    size = list.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    head = list.first?.name == ":status" ? try? HTTP2ResponseFields.head(list) : nil
  }
}
