import DequeModule
import TransferProtocol

/// A connection, as the engine keeps it.
struct ConnectedClient {
  let client: any ServiceClient
  /// Set by `hello`.
  var version: Int?
  var app: AppID?
  /// nil until it is needed.
  var isUsersTool: Bool?
  var watching: Watching = .nothing
  /// Transfers whose last status it is told once it reads again.
  var owed: Set<TransferID> = []
  /// The transfers that it has cancelled and that are not over yet.
  var cancelling: Set<TransferID> = []
  /// Sent behind a request that is carried out in pieces; nil when there is none.
  var waiting: Deque<TransferEngine.Waiting>?
  /// Whether it is closed. What it has asked for before is still carried out.
  var hasEnded = false
  /// Connections whose requests wait until it is forgotten.
  var successors: [any ServiceClient] = []

  /// Whether it is told of a transfer of this app that it watches. Numbers were looked through when it named them.
  func maySee(_ other: AppID) -> Bool {
    if case .everything(.app(let own)) = watching { own == other } else { true }
  }

  enum Watching {
    case nothing
    case everything(Reach)
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
