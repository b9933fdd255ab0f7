/// The data of an HTTPS record, as it comes from the DNS (RFC 9460): how an origin can be reached beside its name and port.
package struct ServiceBinding: Hashable, Sendable {
  /// 0 for an alias (AliasMode), which has no parameters; else the lower, the better.
  package let priority: UInt16
  /// In lower case and without the last dot; empty for the owner of the record.
  package let target: String
  /// The protocols by their ALPN names; nil where the record says nothing of them.
  package private(set) var protocols: [[UInt8]]?
  /// Whether `protocols` are all: the default, http/1.1, is not spoken.
  package private(set) var hasNoDefaultProtocol = false
  /// nil for the port of the origin.
  package private(set) var port: UInt16?
  /// Each of 4 bytes.
  package private(set) var ipv4Hints: [[UInt8]] = []
  /// Each of 16 bytes.
  package private(set) var ipv6Hints: [[UInt8]] = []
  /// The parameters without which the record is of no use.
  package private(set) var mandatory: [UInt16] = []

  package var isAlias: Bool { priority == 0 }

  /// Whether every parameter that the record insists on is one that is read here. Others must not use it (§8).
  package var isUnderstood: Bool { mandatory.allSatisfy { Parameter(rawValue: $0) != nil } }

  private enum Parameter: UInt16 {
    case alpn = 1
    case noDefaultALPN = 2
    case port = 3
    case ipv4hint = 4
    case ipv6hint = 6
  }

  /// nil for what is malformed (§2.2).
  package init?(_ data: ArraySlice<UInt8>) {
    var reader = DNSReader(data)
    guard let priority = reader.number(), let target = reader.name() else { return nil }
    self.priority = priority
    self.target = target
    // §2.4.2: parameters of an alias are ignored.
    guard priority != 0 else { return }
    var last: UInt16?
    var keys: Set<UInt16> = []
    while !reader.isAtEnd {
      guard let key = reader.number(), let length = reader.number(), let value = reader.bytes(Int(length)),
        // In strictly increasing order.
        last.map({ $0 < key }) ?? true, read(key, value)
      else { return nil }
      last = key
      keys.insert(key)
    }
    // §7.1.1 and §8: else the record contradicts itself.
    guard mandatory.allSatisfy(keys.contains), !hasNoDefaultProtocol || protocols != nil else { return nil }
  }

  /// False for a value that its parameter can't have.
  private mutating func read(_ key: UInt16, _ value: ArraySlice<UInt8>) -> Bool {
    if key == 0 {
      guard let numbers = ServiceBinding.increasing(value) else { return false }
      mandatory = numbers
      return true
    }
    switch Parameter(rawValue: key) {
    case .alpn:
      guard let names = ServiceBinding.names(value) else { return false }
      protocols = names
    case .noDefaultALPN:
      guard value.isEmpty else { return false }
      hasNoDefaultProtocol = true
    case .port:
      var reader = DNSReader(value)
      guard value.count == 2, let number = reader.number() else { return false }
      port = number
    case .ipv4hint:
      guard let hints = ServiceBinding.parts(value, of: 4) else { return false }
      ipv4Hints = hints
    case .ipv6hint:
      guard let hints = ServiceBinding.parts(value, of: 16) else { return false }
      ipv6Hints = hints
    case nil: break
    }
    return true
  }

  /// Keys in strictly increasing order, without the one of the list itself (§8).
  private static func increasing(_ value: ArraySlice<UInt8>) -> [UInt16]? {
    var reader = DNSReader(value)
    var numbers: [UInt16] = []
    while !reader.isAtEnd {
      guard let number = reader.number(), number > numbers.last ?? 0 else { return nil }
      numbers.append(number)
    }
    return numbers.isEmpty ? nil : numbers
  }

  /// Names of one byte at least, each behind its length (§7.1.1).
  private static func names(_ value: ArraySlice<UInt8>) -> [[UInt8]]? {
    var reader = DNSReader(value)
    var names: [[UInt8]] = []
    while !reader.isAtEnd {
      guard let length = reader.byte(), length > 0, let name = reader.bytes(Int(length)) else { return nil }
      names.append(Array(name))
    }
    return names.isEmpty ? nil : names
  }

  private static func parts(_ value: ArraySlice<UInt8>, of size: Int) -> [[UInt8]]? {
    guard !value.isEmpty, value.count % size == 0 else { return nil }
    return stride(from: value.startIndex, to: value.endIndex, by: size).map { Array(value[$0..<($0 + size)]) }
  }
}
