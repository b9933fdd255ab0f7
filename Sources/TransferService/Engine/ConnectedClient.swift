import DequeModule
import TransferProtocol

/// A connection, as the engine keeps it.
struct ConnectedClient {
  let client: any ServiceClient
  /// Set by `hello`.
  var version: Int?
  var app: AppID?
  var watching: Watching = .nothing
  /// Transfers whose last status it is told once it reads again.
  var owed: Set<TransferID> = []
  /// The transfers that it has cancelled and that are not over yet.
  var cancelling: Set<TransferID> = []
  /// Sent behind a request that is carried out in pieces; nil when there is none.
  var waiting: Deque<TransferEngine.Waiting>?

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
