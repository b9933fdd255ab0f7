import SystemServices
import TransferProtocol

/// A session as the engine keeps it while it is held, has transfers that are not over, or has events to deliver.
struct LiveSession {
  let id: SessionID
  let app: AppID
  let identifier: String
  var options: SessionOptions
  var executable: ExecutableIdentity
  var machine: SessionMachine
  /// Transfers that are not over, by their task identifiers.
  var unfinished: [Int: TransferID] = [:]
  /// Transfers whose file an app has changed or removed before it acknowledged it. What is left of it is removed once
  /// their end is acknowledged: the app may still read it.
  var lostFiles: Set<TransferID> = []

  init(_ stored: StoredSession, machine: SessionMachine) {
    id = stored.id
    app = stored.app
    identifier = stored.identifier
    options = stored.options
    executable = stored.executable
    self.machine = machine
  }

  /// Attaching again replaces the options and the identity of the program.
  mutating func update(_ stored: StoredSession) {
    options = stored.options
    executable = stored.executable
  }

  /// How many connections to a host the session allows.
  func connectionsPerHost(default limit: Int) -> Int { options.httpMaximumConnectionsPerHost ?? limit }
}
