/// Asks about the cache of systemd-resolved. Used by one thread at a time; blocks.
package protocol ResolvedAsking {
  /// The records of a type that the cache has of a name.
  func answer(_ name: String, type: UInt16) throws(ResolvedCache.Failure) -> ResolvedCache.Answer
  func encryption() throws(ResolvedCache.Failure) -> EncryptedDNS
}

/// Reads what systemd-resolved has in its cache, over D-Bus: nothing goes over the network for it. Used by one thread at a time.
package final class ResolvedCache: ResolvedAsking {
  package struct Answer: Sendable, Equatable {
    /// Each whole as RFC 1035 §3.2.1 has it; their times to live are what is left of them.
    package let records: [[UInt8]]
    package let flags: Flags

    package init(records: [[UInt8]], flags: Flags) {
      self.records = records
      self.flags = flags
    }
  }

  /// `SD_RESOLVED_…` of systemd's `resolved-def.h`.
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let dns = Flags(rawValue: 1 << 0)
    static let noSynthesize = Flags(rawValue: 1 << 11)
    static let noZone = Flags(rawValue: 1 << 13)
    static let noTrustAnchor = Flags(rawValue: 1 << 14)
    static let noNetwork = Flags(rawValue: 1 << 15)
    /// Of answers: they only went over encrypted ways, or never left this machine.
    package static let confidential = Flags(rawValue: 1 << 18)
    package static let synthetic = Flags(rawValue: 1 << 19)
    package static let fromCache = Flags(rawValue: 1 << 20)
    package static let fromZone = Flags(rawValue: 1 << 21)
    package static let fromTrustAnchor = Flags(rawValue: 1 << 22)

    /// Those that a question from `answer` has, all known since systemd 248. That one counts the age of what is in the cache
    /// by itself, and refuses to be told so (`CLAMP_TTL`).
    static let asked: Flags = [.dns, .noSynthesize, .noZone, .noTrustAnchor, .noNetwork]
  }

  package enum Failure: Error, Equatable {
    /// There is nothing of that in the cache.
    case absent
    /// systemd-resolved does not know how to answer that, or may not.
    case refused
    /// It does not run, or has no answer in time.
    case unavailable
  }

  private let bus: SystemBus
  private let deadline = BootInstant.now() + ResolvedCache.patience

  /// For all questions of one object, in seconds.
  private static let patience = 2.0
  private static let service = "org.freedesktop.resolve1"
  private static let manager = SystemBus.Object(
    service: service, path: "/org/freedesktop/resolve1", interface: service + ".Manager")
  private static let mostLinks = 16

  /// nil where there is no message bus.
  ///
  /// - Parameter address: where the message bus listens; nil for the system's.
  package init?(address: String? = nil) {
    guard let bus = SystemBus(address: address) else { return nil }
    self.bus = bus
  }

  package func answer(_ name: String, type: UInt16) throws(Failure) -> Answer {
    let answer = try ask { try bus.records(ResolvedCache.manager, name, type, flags: Flags.asked.rawValue) }
    return Answer(records: answer.records, flags: Flags(rawValue: answer.flags))
  }

  package func encryption() throws(Failure) -> EncryptedDNS {
    // The manager's holds for servers of the machine and for those that it falls back to.
    var modes = [try ask { try bus.text("DNSOverTLS", of: ResolvedCache.manager) }]
    let interfaces = try ask { try bus.interfacesWithServers(ResolvedCache.manager) }.filter { $0 > 0 }
    guard interfaces.count <= ResolvedCache.mostLinks else { return .sometimes }
    for interface in interfaces {
      let path = try ask { try bus.link(ResolvedCache.manager, interface) }
      let link = SystemBus.Object(
        service: ResolvedCache.service, path: path, interface: ResolvedCache.service + ".Link")
      modes.append(try ask { try bus.text("DNSOverTLS", of: link) })
    }
    return EncryptedDNS(modes: modes)
  }

  private func ask<Value>(_ question: () throws -> Value) throws(Failure) -> Value {
    guard BootInstant.now() < deadline else { throw .unavailable }
    do { return try question() } catch { throw ResolvedCache.failure(named: (error as? SystemBus.NoAnswer)?.name) }
  }

  /// - Parameter name: Of an error on the bus.
  static func failure(named name: String?) -> Failure {
    switch name {
    case let name? where name.hasPrefix(service + "."): .absent
    case "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.UnknownMethod",
      "org.freedesktop.DBus.Error.UnknownInterface", "org.freedesktop.DBus.Error.UnknownProperty",
      "org.freedesktop.DBus.Error.NotSupported", "org.freedesktop.DBus.Error.AccessDenied":
      .refused
    default: .unavailable
    }
  }
}
