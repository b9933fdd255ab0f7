import Glibc
import HTTPSemantics

/// Heads that stay in memory beyond their messages, because the next message may have the same one.
extension HTTPRequestHead {
  private static let longestTarget = 2_048

  /// Fields without secrets.
  private static let plainFields: Set<String> = [
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "if-modified-since", "if-none-match",
    "range", "user-agent",
  ]

  /// Whether the target is nothing that may be a secret, and nothing long.
  var targetMayBeKept: Bool {
    target.utf8.count <= HTTPRequestHead.longestTarget && !target.utf8.contains(UInt8(ascii: "?"))
  }

  /// Whether no field may be a secret.
  var fieldsMayBeKept: Bool {
    fields.fields.allSatisfy { HTTPRequestHead.plainFields.contains($0.name.lowercased()) }
  }

  /// Whether both are the same byte for byte: strings that differ in their bytes may be equal.
  func isSame(as other: HTTPRequestHead) -> Bool {
    areSame(target, other.target) && areSame(method, other.method) && areSame(authority, other.authority)
      && areSame(scheme, other.scheme) && connectProtocol == nil && other.connectProtocol == nil
      && (fields.isIdentical(to: other.fields) || areSame(fields.fields, other.fields.fields))
  }

  private func areSame(_ a: [HTTPFields.Field], _ b: [HTTPFields.Field]) -> Bool {
    guard a.count == b.count else { return false }
    for index in a.indices {
      guard areSame(a[index].name, b[index].name), areSame(a[index].value, b[index].value) else { return false }
    }
    return true
  }

  private func areSame(_ a: String, _ b: String) -> Bool {
    var (a, b) = (a, b)
    return a.withUTF8 { a in
      b.withUTF8 { b in
        guard a.count == b.count else { return false }
        guard let first = a.baseAddress, let second = b.baseAddress else { return true }
        return memcmp(first, second, a.count) == 0
      }
    }
  }
}

extension HTTPResponseHead {
  /// Whether it is final and brings nothing that is a secret of the user's.
  var mayBeKept: Bool { !isInformational && !fields.contains("Set-Cookie") && !fields.contains("Set-Cookie2") }
}
