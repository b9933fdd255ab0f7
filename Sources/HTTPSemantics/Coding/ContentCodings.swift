/// The codings of a body, in the order they were applied: the last must be undone first (RFC 9110 §8.4).
package struct ContentCodings: Sendable, Equatable {
  package let applied: [ContentCoding]

  package init(_ applied: [ContentCoding]) { self.applied = applied }

  package init(fields: HTTPFields) {
    self.init(values: fields.values("Content-Encoding"))
  }

  /// - Parameter values: the values of all Content-Encoding fields, in order. Empty list members are ignored
  ///   (RFC 9110 §5.6.1.2).
  package init(values: [String]) {
    applied = values.flatMap { value in
      value.utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
        let name = String(Substring(member)).trimmingHTTPWhitespace()
        return name.isEmpty ? nil : ContentCoding(name: name)
      }
    }
  }

  /// The codings to undo, in the order of undoing. `identity` is nothing to undo.
  package var decodingOrder: [ContentCoding] { applied.reversed().filter { $0 != .identity } }

  /// Whether every coding is one that can be undone here.
  package var areAllKnown: Bool {
    applied.allSatisfy { if case .unknown = $0 { false } else { true } }
  }

  /// Whether the body is the representation itself.
  package var isIdentity: Bool { applied.allSatisfy { $0 == .identity } }
}
