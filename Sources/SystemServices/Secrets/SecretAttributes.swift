/// The purpose of a secret: the attributes by which it is found again. They are not secret, and stores keep them
/// readable.
///
/// In a search an attribute that is absent matches every value, and one that is the empty string matches items without
/// it.
package struct SecretAttributes: Sendable, Hashable, CustomStringConvertible {
  package enum Name: String, Sendable, CaseIterable {
    case server
    case port
    case `protocol`
    case realm
    /// The scheme of the challenge: `basic`, `digest`, …
    case authentication
    /// The kind of proxy, for a proxy's credential.
    case proxyType = "proxy-type"
    case user
  }

  private var values: [Name: String]

  package init(_ values: [Name: String] = [:]) { self.values = values }

  package subscript(_ name: Name) -> String? {
    get { values[name] }
    set { values[name] = newValue }
  }

  /// With every name, so that two items are the same exactly when all their attributes are: an attribute that an item
  /// does not have is the empty string.
  var complete: [(name: String, value: String)] { Name.allCases.map { ($0.rawValue, values[$0] ?? "") } }

  /// Those that are there.
  var present: [(name: String, value: String)] {
    Name.allCases.compactMap { name in values[name].map { (name.rawValue, $0) } }
  }

  /// Those that an item has, without the names that are foreign to us.
  init(ofItem pairs: some Sequence<(name: String, value: String)>) {
    values = [:]
    for (name, value) in pairs {
      if let name = Name(rawValue: name), !value.isEmpty { values[name] = value }
    }
  }

  /// Whether an item with these attributes is one that `query` asks for.
  func matches(_ query: SecretAttributes) -> Bool { query.values.allSatisfy { (values[$0] ?? "") == $1 } }

  /// A name for people, in programs that show the user's keys.
  var label: String {
    let host = [values[.server], values[.port]].compactMap { $0 }.joined(separator: ":")
    let user = values[.user].map { $0 + "@" } ?? ""
    return "\(user)\(host.isEmpty ? "URL credential" : host)"
  }

  package var description: String { present.map { "\($0.name)=\($0.value)" }.joined(separator: " ") }
}
