import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem
@testable import urlsession

/// A service that can't start.
struct WaitingForTheServiceTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test func waitTellsWhyTheServiceDoesNotStart() async throws {
    let state = sandbox.home.path + "/state/urlsessiond"
    try FileManager.default.createDirectory(
      atPath: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try FileManager.default.createSymbolicLink(atPath: state + "/partial", withDestinationPath: "/nowhere")
    let waiting = try RunningProgram(
      Sandbox.program("urlsession"), arguments: ["wait", "1"], environment: sandbox.environment, folder: sandbox.work,
      files: sandbox.home.path + "/tmp/wait", input: nil)
    try await eventually("the reason to be told") { waiting.errorsSoFar.contains("put the folder back in its place") }
    waiting.signal(SIGINT)
    #expect(try await waiting.ended().status == 130)
  }

  /// The folder has the place of the queue's log, so that SQLite opens no queue.
  @Test func commandsSayWhyTheStorageIsWaitedForAndWaitGoesOn() async throws {
    let gate = Gate()
    let server = try await LoopbackServer.start { _ in .ok("hello").preceded(by: [.waitFor(gate)]) }
    let started = try await sandbox.run("download", "--json", server.url("/f").absoluteString, "-o", "f")
    let number = try #require(try started.json()["transfer"] as? Int, "\(started.errors)")
    sandbox.endPrograms()
    let state = sandbox.home.path + "/state/urlsessiond"
    let (log, kept) = (state + "/queue.sqlite-wal", sandbox.home.path + "/kept")
    #expect(rename(log, kept) == 0 && mkdir(log, 0o700) == 0)
    let waiting = try sandbox.start(["wait", "\(number)"])
    let reason = "queue.sqlite, can't be opened"
    try await eventually("the reason to be told") { waiting.errorsSoFar.contains(reason) }
    #expect(waiting.errorsSoFar.contains("Waiting for it."))
    let why = try await sandbox.run("why", "\(number)")
    #expect(why.status == 69 && why.errors.contains(reason), "\(why.errors)")
    let checks = try #require(try await sandbox.run("doctor", "--json").json()["checks"] as? [[String: Any]])
    let service = try #require(checks.first { $0["check"] as? String == "service" })
    #expect(service["verdict"] as? String == "fail" && (service["text"] as? String)?.contains(reason) == true)
    #expect(rmdir(log) == 0 && rename(kept, log) == 0)
    gate.open()
    let ended = try await waiting.ended()
    #expect(ended.status == 0 && sandbox.content("f") == Data("hello".utf8), "\(ended.errors)")
    await server.shutdown()
  }

  @Test func aFolderOfTheQueueThatIsGoneIsToldOnceAndWaitedFor() async throws {
    let gate = Gate()
    let server = try await LoopbackServer.start { _ in .ok("hello").preceded(by: [.waitFor(gate)]) }
    let started = try await sandbox.run("download", "--json", server.url("/f").absoluteString, "-o", "f")
    let number = try #require(try started.json()["transfer"] as? Int, "\(started.errors)")
    sandbox.endPrograms()
    let (state, kept) = (sandbox.home.path + "/state/urlsessiond", sandbox.home.path + "/kept")
    try await eventually("the folder to be free") { rename(state, kept) == 0 }
    let waiting = try sandbox.start(["wait", "\(number)"])
    try await eventually("the reason to be told") { waiting.errorsSoFar.contains("is waited for 10 minutes in all") }
    let doctor = try await sandbox.run("doctor", "--json")
    let checks = try #require(try doctor.json()["checks"] as? [[String: Any]])
    let folder = try #require(checks.first { $0["check"] as? String == "stateFolder" })
    #expect(doctor.status == 69 && folder["verdict"] as? String == "fail", "\(folder)")
    #expect((folder["advice"] as? String)?.hasSuffix("/run/urlsessiond/socket.queue") == true, "\(folder)")
    #expect(rename(kept, state) == 0)
    gate.open()
    let ended = try await waiting.ended()
    #expect(ended.status == 0 && sandbox.content("f") == Data("hello".utf8), "\(ended.errors)")
    #expect(ended.errors.components(separatedBy: "is gone").count == 2, "\(ended.errors)")
    await server.shutdown()
  }

  /// Failures of other kinds are given up after a while.
  @Test(arguments: [true, false]) func onlyAFolderThatIsMissingIsWaitedForWithoutEnd(isMissing: Bool) throws {
    let gone = ServiceUnavailable(reason: "the folder is gone")
    let line = TransferFollower.line(waitingForStorage: gone) { isMissing }
    #expect((line != nil) == isMissing)
    let silent = ServiceUnavailable(reason: "it is silent", isSilent: true)
    #expect(TransferFollower.line(waitingForStorage: silent) { isMissing } == nil)
  }
}
