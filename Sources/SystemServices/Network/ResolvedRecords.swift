import Foundation

/// Asks systemd-resolved for records of the DNS, over D-Bus.
package struct ResolvedRecords: Sendable {
  private let address: String?

  /// - Parameter address: where the message bus listens; nil for the system's.
  package init(address: String? = nil) { self.address = address }

  /// Whether this machine has a message bus to ask on.
  package static var isAvailable: Bool {
    ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"] != nil
      || access("/run/dbus/system_bus_socket", F_OK) == 0
  }

  /// Whether addresses come from systemd-resolved, too: no other server, and none of another network namespace, is to be told
  /// fewer names than the system's own. Reads a small file.
  package static var isResolverOfThisProcess: Bool {
    guard let text = try? String(contentsOfFile: "/etc/resolv.conf", encoding: .utf8) else { return false }
    return isResolver(in: text)
  }

  /// - Parameter configuration: the text of resolv.conf.
  static func isResolver(in configuration: String) -> Bool {
    let servers = configuration.split(whereSeparator: \.isNewline).compactMap { line -> Substring? in
      let words = line.split(whereSeparator: \.isWhitespace)
      return words.first == "nameserver" && words.count > 1 ? words[1] : nil
    }
    return !servers.isEmpty && servers.allSatisfy { $0 == "127.0.0.53" || $0 == "127.0.0.54" }
  }

  /// The records of a type, each whole as RFC 1035 §3.2.1 has it; none where there are none or no answer. Blocks for as long as
  /// name servers take, ten seconds at most.
  package func records(of name: String, type: UInt16) -> [[UInt8]] {
    guard let bus = SystemBus(address: address, patience: 10_000_000) else { return [] }
    let manager = SystemBus.Object(
      service: "org.freedesktop.resolve1", path: "/org/freedesktop/resolve1",
      interface: "org.freedesktop.resolve1.Manager")
    return (try? bus.records(manager, name, type).records) ?? []
  }
}
