/// How many transfers run, by what has places for few of them: servers, apps, and sessions at hosts. A value.
///
/// One that has all its bytes has no place at its server. One that is aside takes no other app's place there: it counts to
/// its app alone, of which no more than a host has places for are so connected to a server.
struct RunningCounts: Equatable {
  /// The name of a host, or the address to which it leads.
  enum Server: Hashable {
    case host(String)
    case address(String)
  }

  /// A transfer that runs, as it is counted.
  struct Run {
    let app: AppID
    let session: SessionID
    let host: String
    let address: String?
    let isAside: Bool
    let hasArrived: Bool

    var servers: [Server] { [.host(host)] + (address.map { [.address($0)] } ?? []) }
  }

  private struct AppServer: Hashable {
    let app: AppID
    let server: Server
  }

  /// The session's allowance for a host is one for slow and other transfers together.
  private struct SessionHost: Hashable {
    let session: SessionID
    let host: String
  }

  private var apps: [AppID: Int] = [:]
  private var servers: [Server: Int] = [:]
  private var appServers: [AppServer: Int] = [:]
  private var sessions: [SessionHost: Int] = [:]

  /// With those that are aside, and those that have all their bytes.
  func of(app: AppID) -> Int { apps[app] ?? 0 }

  /// The most that are there in the way of one more of this app: those of all apps that are not aside, or its own.
  func at(_ server: Server, for app: AppID) -> Int {
    max(servers[server] ?? 0, of(app: app, at: server))
  }

  /// With those that are aside: their connections are open.
  func of(app: AppID, at server: Server) -> Int { appServers[AppServer(app: app, server: server)] ?? 0 }

  /// With those that are aside, whose connections are among those that the session may have.
  func of(session: SessionID, at host: String) -> Int { sessions[SessionHost(session: session, host: host)] ?? 0 }

  mutating func add(_ run: Run) { count(run, 1) }
  mutating func remove(_ run: Run) { count(run, -1) }

  private mutating func count(_ run: Run, _ change: Int) {
    apps.count(change, at: run.app)
    guard !run.hasArrived else { return }
    sessions.count(change, at: SessionHost(session: run.session, host: run.host))
    for server in run.servers {
      appServers.count(change, at: AppServer(app: run.app, server: server))
      if !run.isAside { servers.count(change, at: server) }
    }
  }
}

extension Dictionary where Value == Int {
  /// Keeps no zeros.
  fileprivate mutating func count(_ change: Int, at key: Key) {
    let sum = (self[key] ?? 0) + change
    assert(sum >= 0, "It is removed as it was added.")
    self[key] = sum > 0 ? sum : nil
  }
}
