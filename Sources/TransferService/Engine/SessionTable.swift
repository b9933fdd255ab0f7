import SystemServices

/// The live sessions, by number and by name.
struct SessionTable {
  private struct Name: Hashable {
    let app: AppID
    let identifier: String
  }

  private var sessions: [SessionID: LiveSession] = [:]
  private var numbers: [Name: SessionID] = [:]

  var ids: [SessionID] { sessions.keys.sorted() }
  var count: Int { sessions.count }

  /// An app is being started, or will be.
  var awaitsLaunch: Bool { sessions.values.contains { $0.machine.awaitsLaunch } }

  /// The apps with a process that holds a session.
  var attachedApps: Set<AppID> { Set(sessions.values.filter { $0.machine.attachment != nil }.map(\.app)) }

  subscript(id: SessionID) -> LiveSession? { sessions[id] }

  func id(of identifier: String, app: AppID) -> SessionID? { numbers[Name(app: app, identifier: identifier)] }

  func held(by connection: UInt64) -> [SessionID] {
    sessions.values.filter { $0.machine.attachment?.connection == connection }.map(\.id).sorted()
  }

  mutating func insert(_ session: LiveSession) {
    sessions[session.id] = session
    numbers[Name(app: session.app, identifier: session.identifier)] = session.id
  }

  mutating func remove(_ id: SessionID) {
    guard let session = sessions.removeValue(forKey: id) else { return }
    numbers[Name(app: session.app, identifier: session.identifier)] = nil
  }

  mutating func update(_ id: SessionID, _ change: (inout LiveSession) -> Void) {
    guard let index = sessions.index(forKey: id) else { return }
    change(&sessions.values[index])
  }

  mutating func handle(_ event: SessionMachine.Event, for id: SessionID, at now: BootInstant) -> [SessionMachine.Action]
  {
    sessions[id]?.machine.handle(event, at: now) ?? []
  }
}
