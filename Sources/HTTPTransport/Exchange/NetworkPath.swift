import NIOCore
import Synchronization
import SystemServices

/// The network that carries a connection. Its traits are looked up when they are first read.
package final class NetworkPath: Sendable {
  private let destination: NetworkAddress
  private let source: NetworkAddress?
  private let networks: any NetworkDescribing
  private let known = Mutex<NetworkTraits?>(nil)

  /// nil for a connection that is not of the Internet protocols.
  init?(to remote: SocketAddress?, from local: SocketAddress?, networks: any NetworkDescribing) {
    guard let destination = remote.flatMap({ NetworkAddress($0) }) else { return nil }
    self.destination = destination
    source = local.flatMap { NetworkAddress($0) }
    self.networks = networks
  }

  /// None where the way there is gone. May block, though not for long.
  package var traits: NetworkTraits {
    if let traits = known.withLock({ $0 }) { return traits }
    let traits = networks.traits(towards: destination, from: source) ?? []
    known.withLock { $0 = traits }
    return traits
  }
}
