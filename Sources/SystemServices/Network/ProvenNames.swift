/// Resolves names with proof that the answer is unchanged (DNSSEC, RFC 4033): asks systemd-resolved, which validates,
/// over D-Bus.
package struct ProvenNames: Sendable {
  package enum Failure: Error, Equatable {
    /// systemd-resolved does not run, or has no answer.
    case unavailable
    /// There is an answer, without proof.
    case unproven
  }

  private let address: String?

  /// - Parameter address: where the message bus listens; nil for the system's.
  package init(address: String? = nil) { self.address = address }

  /// SD_RESOLVED_AUTHENTICATED: validated, or from this machine itself.
  private static let isAuthenticated: UInt64 = 1 << 9

  /// The addresses of `host`, at least one. Blocks for as long as name servers take, half a minute at most.
  package func addresses(of host: String) throws(Failure) -> [NetworkAddress] {
    guard let bus = SystemBus(address: address, patience: 30_000_000) else { throw .unavailable }
    let manager = SystemBus.Object(
      service: "org.freedesktop.resolve1", path: "/org/freedesktop/resolve1",
      interface: "org.freedesktop.resolve1.Manager")
    let answer: SystemBus.ResolvedName
    do { answer = try bus.resolve(manager, host) } catch { throw .unavailable }
    guard answer.flags & ProvenNames.isAuthenticated != 0 else { throw .unproven }
    guard !answer.addresses.isEmpty else { throw .unavailable }
    return answer.addresses
  }
}
