import Testing

@testable import TransferService

@Suite struct ConnectionQuotaTests {
  @Test func oneProgramDoesNotUseUpTheConnectionsOfOthers() throws {
    let quota = ConnectionQuota(total: 4, perProgram: 2)
    try quota.begin("/a")
    try quota.begin("/a")
    #expect(throws: ConnectionQuota.Exceeded.self) { try quota.begin("/a") }
    try quota.begin("/b")
    quota.end("/a")
    try quota.begin("/a")
    try quota.begin("/b")
    #expect(throws: ConnectionQuota.Exceeded.self) { try quota.begin("/c") }
    quota.end("/b")
    try quota.begin("/c")
  }
}
