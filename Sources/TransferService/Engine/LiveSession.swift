import Foundation
import SystemServices
import TransferProtocol

/// A session as the engine keeps it while it is held, has transfers that are not over, or has events to deliver.
struct LiveSession {
  let id: SessionID
  let app: AppID
  let identifier: String
  var options: SessionOptions
  /// The options with the logins of proxies, where `options` are still without them.
  var sealedOptions: Data?
  /// The additional header fields, where `options` are still without them.
  var sealedFields: Data?
  var executable: ExecutableIdentity
  var machine: SessionMachine { didSet { tellRuns() } }
  /// Transfers that are not over, by their task identifiers.
  var unfinished: [Int: TransferID] = [:]
  /// Transfers whose file an app has changed or removed before it acknowledged it. What is left of it is removed once
  /// their end is acknowledged: the app may still read it.
  var lostFiles: Set<TransferID> = []
  var readEvents = ReadEvents()
  var launchNotes = LaunchNotes()
  /// Since when its events have waited for a keychain that is locked, whichever processes have attached since; nil where they do
  /// not.
  var keychainLockedSince: BootInstant?
  /// Whether the library of the process that attached last says how transfers begin that a date has delayed.
  var answersDelayedRequests = false

  /// How the app judges connections: whether their servers are to be trusted, and with which certificate.
  private(set) var judgement = Judgement.unknown { didSet { tellRuns() } }
  /// Transfers whose own delegates have no method for a connection's challenge. Those of other transfers may have one.
  private var leftToRules: Set<TransferID> = [] { didSet { tellRuns() } }
  /// The session's runs look at it.
  let connectionQuestions = ConnectionQuestions()

  /// The notes in the queue of how often the app was started, by number.
  struct LaunchNotes: Sendable {
    private(set) var last = 0
    private var written = 0

    /// Whether the queue has the last one.
    var areWritten: Bool { written == last }

    mutating func begin() -> Int {
      last += 1
      return last
    }

    /// The queue has this one, or a later one.
    mutating func wrote(_ number: Int) { written = max(written, number) }
  }

  enum Judgement: Sendable, Equatable {
    /// It has given no answer of its own yet.
    case unknown
    /// It has answers of its own, so none may be made without it.
    case ofApp
  }

  /// Whether a load asks about its connections. As long as no process holds the session, only where the app is known to
  /// have answers of its own.
  private var asksAboutConnections: Bool {
    switch judgement {
    case .unknown: machine.attachment != nil
    case .ofApp: true
    }
  }

  init(_ stored: StoredSession, machine: SessionMachine) {
    id = stored.id
    app = stored.app
    identifier = stored.identifier
    options = stored.options
    sealedOptions = stored.sealedOptions
    sealedFields = stored.sealedFields
    executable = stored.executable
    self.machine = machine
    if stored.judgesConnections { judgement = .ofApp }
    tellRuns()
  }

  private func tellRuns() {
    // Answers of its own count for all transfers: another process may have other delegates.
    connectionQuestions.set(areAsked: asksAboutConnections, except: judgement == .ofApp ? [] : leftToRules)
  }

  /// The app has an answer of its own, so none is made without it.
  mutating func judgesConnections() { judgement = .ofApp }

  /// The delegates of this transfer have no method for the question.
  mutating func leavesToRules(_ transfer: TransferID) { leftToRules.insert(transfer) }

  /// The transfer is over.
  mutating func forget(_ transfer: TransferID, taskIdentifier: Int) {
    unfinished[taskIdentifier] = nil
    if leftToRules.contains(transfer) { leftToRules.remove(transfer) }
  }

  /// Attaching again replaces the options and the identity of the program.
  mutating func update(_ stored: StoredSession) {
    options = stored.options
    sealedOptions = stored.sealedOptions
    sealedFields = stored.sealedFields
    executable = stored.executable
    // Another process may have another delegate. An answer of the app's own lasts, also while it is being written.
    if judgement != .ofApp { judgement = stored.judgesConnections ? .ofApp : .unknown }
    leftToRules = []
  }

  /// How many connections to a host the session allows.
  func connectionsPerHost(default limit: Int) -> Int { options.httpMaximumConnectionsPerHost ?? limit }
}
