import Testing

@testable import TransferService

@Suite struct ConnectionQuotaTests {
  @Test func oneProgramDoesNotUseUpTheConnectionsOfOthers() throws {
    let quota = ConnectionQuota(total: 8, perProgram: 2)
    try quota.begin("/a")
    try quota.begin("/a")
    #expect(throws: ConnectionQuota.Exceeded.program("/a", limit: 2)) { try quota.begin("/a") }
    try quota.begin("/b")
    quota.end("/a")
    try quota.begin("/a")
  }

  @Test func connectionsCountBeforeTheirProgramIsKnown() throws {
    let quota = ConnectionQuota(total: 2, perProgram: 2)
    try quota.begin()
    try quota.begin()
    #expect(throws: ConnectionQuota.Exceeded.total(limit: 2)) { try quota.begin() }
    quota.end()
    try quota.begin()
  }
}
