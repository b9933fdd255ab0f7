import Testing

@testable import TransferService

@Suite struct ConnectionQuotaTests {
  private func quota(connections: Int = 8, perProgram: Int = 2, bytes: Int = 100, bytesPerProgram: Int = 60)
    -> ConnectionQuota
  {
    var limits = ConnectionLimits()
    (limits.connections, limits.connectionsPerProgram) = (connections, perProgram)
    (limits.heldBytes, limits.heldBytesPerProgram) = (bytes, bytesPerProgram)
    return ConnectionQuota(limits)
  }

  /// A command that waits for one transfer has a connection that watches and one with a session for as long as that lasts.
  @Test func commandsThatWaitLeavePlacesForSessions() {
    let limits = ConnectionLimits()
    #expect(limits.watchingConnectionsPerProgram * 2 <= limits.sessionConnectionsPerProgram)
    let lasting = limits.watchingConnectionsPerProgram + limits.sessionConnectionsPerProgram
    #expect(lasting + 32 <= limits.connectionsPerProgram)
  }

  @Test func oneProgramDoesNotUseUpTheConnectionsOfOthers() throws {
    let quota = quota()
    try quota.begin("/a")
    try quota.begin("/a")
    #expect(throws: ConnectionQuota.Exceeded.program("/a", limit: 2)) { try quota.begin("/a") }
    try quota.begin("/b")
    quota.end("/a")
    try quota.begin("/a")
  }

  @Test func lastingUsesLeavePlacesForShortRequests() throws {
    let usual = ConnectionLimits()
    #expect(
      usual.sessionConnectionsPerProgram + usual.watchingConnectionsPerProgram < usual.connectionsPerProgram)
    var limits = ConnectionLimits()
    (limits.sessionConnectionsPerProgram, limits.watchingConnectionsPerProgram) = (2, 1)
    let quota = ConnectionQuota(limits)
    try quota.begin(.sessions, of: "/a")
    try quota.begin(.sessions, of: "/a")
    #expect(throws: ConnectionQuota.Exceeded.sessionsOfProgram("/a", limit: 2)) {
      try quota.begin(.sessions, of: "/a")
    }
    try quota.begin(.watching, of: "/a")
    #expect(throws: ConnectionQuota.Exceeded.watchersOfProgram("/a", limit: 1)) {
      try quota.begin(.watching, of: "/a")
    }
    try quota.begin(.sessions, of: "/b")
    quota.end(.sessions, of: "/a")
    try quota.begin(.sessions, of: "/a")
  }

  @Test func fewConnectionsWaitForTheirRefusal() {
    var limits = ConnectionLimits()
    limits.connectionsBeingRefused = 1
    let quota = ConnectionQuota(limits)
    #expect(quota.beginRefusal())
    #expect(!quota.beginRefusal())
    quota.endRefusal()
    #expect(quota.beginRefusal())
  }

  @Test func openFilesHaveLimits() throws {
    var limits = ConnectionLimits()
    (limits.files, limits.filesPerProgram) = (5, 3)
    let quota = ConnectionQuota(limits)
    try quota.beginFiles(3, of: "/a")
    #expect(throws: ConnectionQuota.Exceeded.filesOfProgram("/a", limit: 3)) { try quota.beginFiles(1, of: "/a") }
    #expect(throws: ConnectionQuota.Exceeded.files(limit: 5)) { try quota.beginFiles(3, of: "/b") }
    quota.endFiles(2, of: "/a")
    try quota.beginFiles(2, of: "/a")
    try quota.beginFiles(2, of: "/b")
  }

  @Test func filesCountUntilTheyAreUsed() throws {
    var limits = ConnectionLimits()
    (limits.files, limits.filesPerProgram) = (100, 100)
    let quota = ConnectionQuota(limits)
    let connection = ConnectionFiles(quota, program: "/a")
    #expect(throws: ConnectionFiles.Fault.count(65)) { _ = try connection.reserve(65) }
    connection.keep(PassedFiles([], share: try connection.reserve(60)), of: 1)
    #expect(throws: ConnectionFiles.Fault.tooMany(limit: 64)) { _ = try connection.reserve(5) }
    var taken = connection.take(1)
    #expect(taken != nil && connection.take(1) == nil)
    #expect(throws: ConnectionFiles.Fault.tooMany(limit: 64)) { _ = try connection.reserve(5) }
    taken = nil
    connection.keep(PassedFiles([], share: try connection.reserve(64)), of: 2)
    // The connection is closed, and with it what no request has taken.
    connection.close()
    try quota.beginFiles(100, of: "/a")
    quota.endFiles(100, of: "/a")
  }

  @Test func connectionsCountBeforeTheirProgramIsKnown() throws {
    let quota = quota(connections: 2)
    try quota.begin()
    try quota.begin()
    #expect(throws: ConnectionQuota.Exceeded.total(limit: 2)) { try quota.begin() }
    quota.end()
    try quota.begin()
  }

  /// Copies of a program under other names are other programs.
  @Test func aFewProgramsThatTakeAllTheyCanLeavePlacesForOthers() throws {
    let quota = quota(connections: 512, perProgram: 128)
    func connect(_ program: String) throws {
      try quota.begin()
      do { try quota.begin(program) } catch {
        quota.end()
        throw error
      }
    }
    func connectAsOftenAsPossible(_ program: String) -> Int {
      var count = 0
      while (try? connect(program)) != nil { count += 1 }
      return count
    }
    #expect(connectAsOftenAsPossible("/copy1") == 128, "without need nothing is withheld")
    for copy in 2...6 { #expect(connectAsOftenAsPossible("/copy\(copy)") > 0) }
    for app in 1...4 { try connect("/app\(app)") }
  }

  @Test func theOnlyPlaceIsGiven() throws {
    let quota = quota(connections: 1, perProgram: 128)
    try quota.begin()
    try quota.begin("/a")
  }

  @Test func bytesOfMessagesThatHaveBegunAreLimited() throws {
    let quota = quota()
    try quota.changeHeldBytes(by: 60, of: "/a")
    #expect(throws: ConnectionQuota.Exceeded.bytesOfProgram("/a", limit: 60)) {
      try quota.changeHeldBytes(by: 1, of: "/a")
    }
    try quota.changeHeldBytes(by: 40, of: "/b")
    #expect(throws: ConnectionQuota.Exceeded.bytes(limit: 100)) { try quota.changeHeldBytes(by: 1, of: "/b") }
    try quota.changeHeldBytes(by: -60, of: "/a")
    try quota.changeHeldBytes(by: 20, of: "/b")
    try quota.changeHeldBytes(by: -60, of: "/b")
    try quota.changeHeldBytes(by: 60, of: "/a")
  }
}
