import SystemServices
import TransferProtocol

/// A connected app as the engine sees it.
package protocol ServiceClient: AnyObject, Sendable {
  /// Unique as long as the service runs.
  var id: UInt64 { get }
  var peer: PeerIdentity { get }
  /// Whether what was sent before has mostly been read. While it is false, pushes that can be left out are.
  var canTakeMore: Bool { get }
  func send(_ message: ServiceMessage)
  func close()
}

/// What the engine keeps of a connection.
struct ConnectedClient {
  let client: any ServiceClient
  /// Set by `hello`.
  var version: Int?
  var app: AppID?
  var watching: Watching = .nothing

  enum Watching {
    case nothing
    case everything
    case transfers(Set<TransferID>)

    func includes(_ id: TransferID) -> Bool {
      switch self {
      case .nothing: false
      case .everything: true
      case .transfers(let ids): ids.contains(id)
      }
    }
  }
}
