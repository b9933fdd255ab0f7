import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Which programs see the transfers of every app.
@Suite struct TransferEngineReachTests {
  /// A file that stands for the tool, and the program that a client which runs it has.
  private struct Tool {
    let folder: TemporaryFolder
    var path: String { folder.path + "/urlsession" }

    init() throws {
      folder = try TemporaryFolder()
      try Data("tool".utf8).write(to: URL(fileURLWithPath: folder.path + "/urlsession"))
    }

    func identity(_ path: String? = nil) throws -> ExecutableIdentity {
      var status = stat()
      try #require(stat(path ?? self.path, &status) == 0)
      return ExecutableIdentity(
        path: path ?? self.path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
    }
  }

  private func page(_ reply: ServiceReply) throws -> [TransferStatus] {
    guard case .transfers(let page) = reply else {
      Issue.record("\(reply)")
      return []
    }
    return page.transfers
  }

  @Test func theToolSeesAndCancelsTransfersOfEveryApp() async throws {
    let tool = try Tool()
    try await withEngine({ $0.usersTool = UsersTool(path: tool.path) }) { fixture in
      let (one, two) = (fixture.client("/one"), fixture.client("/two"))
      try await one.begin()
      try await two.begin()
      let first = try await one.create([.download("http://h/1", running: false)])
      let second = try await two.create([.download("http://h/2", running: false)])
      let user = FakeClient(fixture.engine, executable: try tool.identity())
      try await user.greet()

      let list = try page(try await user.ask(.listTransfers(ListTransfers(ofEveryApp: true))))
      #expect(list.map(\.transfer) == first + second)
      #expect(list.map(\.app) == ["/one", "/two"])
      #expect(list.map(\.session) == ["s", "s"])
      #expect(try page(try await user.ask(.listTransfers(ListTransfers()))) == [], "its own, of which it has none")
      guard case .transfer(let shown) = try await user.ask(.showTransfer(TransferReference(transfer: second[0]))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.status.app == "/two")

      #expect(try page(try await user.ask(.watch(Watch(transfers: second)))).map(\.transfer) == second)
      #expect(try await user.ask(.cancelTransfer(TransferReference(transfer: second[0]))) == .done)
      let change = try await user.next { if case .transferChanged(let status) = $0 { status } else { nil } }
      #expect(change.transfer == second[0] && change.state == .completed && change.app == "/two")

      #expect(try page(try await user.ask(.watch(Watch(ofEveryApp: true)))).map(\.transfer) == first)
      try await one.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      let other = try await user.next { if case .transferChanged(let status) = $0 { status } else { nil } }
      #expect(other.transfer == first[0] && other.state == .completed)
    }
  }

  @Test func theToolLimitsAnotherApp() async throws {
    let tool = try Tool()
    try await withEngine({ $0.usersTool = UsersTool(path: tool.path) }) { fixture in
      let (one, two) = (fixture.client("/one"), fixture.client("/two"))
      try await one.begin()
      try await two.begin()
      let first = try await one.create([.download("http://h/1", running: false)])[0]
      let second = try await two.create([.download("http://h/2", running: false)])[0]
      let user = FakeClient(fixture.engine, executable: try tool.identity())
      try await user.greet()
      func limits(_ id: Int64) async throws -> [TransferLimit]? {
        guard case .transfer(let shown) = try await user.ask(.showTransfer(TransferReference(transfer: id))) else {
          throw Refusal(.unknownTask, "no transfer")
        }
        return shown.status.limits
      }
      func limit(_ app: String, _ session: String? = nil, _ rate: Int64? = 2_000) -> ClientRequest {
        .limitApp(LimitApp(app: app, session: session, limit: BandwidthLimit(bytesPerSecond: rate)))
      }

      try await user.ask(limit("/two"))
      try await user.ask(limit("/two", "s", 4_000))
      #expect(
        try await limits(second) == [
          TransferLimit(scope: .session, limit: .init(bytesPerSecond: 4_000)),
          TransferLimit(scope: .app, limit: .init(bytesPerSecond: 2_000)),
        ])
      #expect(try await limits(first) == nil, "a session of the same name")
      #expect(try await user.refusal(limit("/two", nil, 1_023)) == .invalidRequest)
      #expect(try await user.refusal(limit("/two", "other")) == .unknownTask)
      #expect(try await user.refusal(limit("/none")) == .unknownTask)
      #expect(try await one.refusal(limit("/two")) == .notPermitted)
      #expect(try await one.refusal(limit("/none")) == .notPermitted, "it does not hear which apps there are")
      try await one.ask(limit("/one", "s"))
      #expect(try await limits(first) == [TransferLimit(scope: .session, limit: .init(bytesPerSecond: 2_000))])
      try await user.ask(limit("/two", nil, nil))
      try await user.ask(limit("/two", "s", nil))
      #expect(try await limits(second) == nil)
    }
  }

  @Test func anotherProgramGetsOnlyItsOwn() async throws {
    let tool = try Tool()
    // The same bytes under the same name, elsewhere.
    let copy = try Tool()
    try await withEngine({ $0.usersTool = UsersTool(path: tool.path) }) { fixture in
      let app = fixture.client("/one")
      try await app.begin()
      let id = try await app.create([.download("http://h/1", running: false)])[0]
      let claimed = ExecutableIdentity(path: tool.path, device: 1, inode: 2, owner: geteuid())
      for program in [try copy.identity(), claimed] {
        let stranger = FakeClient(fixture.engine, executable: program)
        try await stranger.greet()
        #expect(try await stranger.refusal(.listTransfers(ListTransfers(ofEveryApp: true))) == .notPermitted)
        #expect(try await stranger.refusal(.watch(Watch(ofEveryApp: true))) == .notPermitted)
        #expect(try await stranger.refusal(.showTransfer(TransferReference(transfer: id))) == .unknownTask)
        #expect(try await stranger.refusal(.cancelTransfer(TransferReference(transfer: id))) == .unknownTask)
        #expect(try page(try await stranger.ask(.watch(Watch(transfers: [id])))) == [])
        #expect(try page(try await stranger.ask(.listTransfers(ListTransfers()))) == [])
        try await stranger.watch()
        try await app.ask(
          .updateTask(
            {
              var update = UpdateTask(session: "s", taskIdentifier: 1)
              update.taskDescription = "changed"
              return update
            }()))
        await fixture.settle()
        #expect(stranger.messages.all.allSatisfy { if case .push = $0 { false } else { true } })
      }
    }
  }

  @Test func withoutAToolNoProgramSeesEveryApp() async throws {
    try await withEngine { fixture in
      let client = fixture.client("/usr/bin/urlsession")
      try await client.greet()
      #expect(try await client.refusal(.listTransfers(ListTransfers(ofEveryApp: true))) == .notPermitted)
    }
  }

  /// A file that other users may write, or have put there, could be any program.
  @Test func aToolThatOthersCanReplaceIsNotTrusted() throws {
    let tool = try Tool()
    let known = UsersTool(path: tool.path)
    let program = try tool.identity()
    #expect(known.isProgram(program))
    #expect(chmod(tool.path, 0o777) == 0)
    #expect(!known.isProgram(program), "other users may write it")
    #expect(chmod(tool.path, 0o775) == 0)
    #expect(known.isProgram(program))
    #expect(chmod(tool.folder.path, 0o777) == 0)
    #expect(!known.isProgram(program), "other users may put files there")
    #expect(chmod(tool.folder.path, 0o700) == 0)
    #expect(unlink(tool.path) == 0)
    #expect(!known.isProgram(program), "it is gone")
    try Data("new".utf8).write(to: URL(fileURLWithPath: tool.path))
    #expect(known.isProgram(try tool.identity()), "one that took its place is the tool")
  }

  @Test(arguments: [
    ("/usr/bin/urlsessiond", "/usr/bin/urlsession"), ("/usr/bin/urlsessiond (deleted)", "/usr/bin/urlsession"),
    ("/a b/urlsessiond", "/a b/urlsession"),
  ])
  func theToolStandsBesideTheService(_ service: String, _ tool: String) {
    #expect(UsersTool(besideService: service).path == tool)
  }
}
