import Foundation
import Logging
import LoopbackServer
import NIOCore
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Open files that come over a connection.
extension ClientConnectionTests {
  /// Runs `body` with a client that is attached. Afterwards no file of the folder of apps is open any more.
  func withAttached(
    _ limits: ConnectionLimits = ConnectionLimits(), runner: ScriptedRunner = ScriptedRunner(),
    _ body: (SocketClient, EngineFixture, String) async throws -> Void
  ) async throws {
    try await withEngine(runner: runner) { fixture in
      var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      let path = fixture.folder.path + "/run/socket"
      let server = try await TransferServer.start(at: .path(path), engine: fixture.engine, log: log, limits: limits)
      let client = try await SocketClient.connect(path)
      _ = try await client.ask(.hello(Hello(client: "tests")))
      _ = try await client.ask(.attach(Attach(session: "s")))
      try await body(client, fixture, path)
      client.close()
      await server.close()
      let apps = fixture.folder.path + "/app/"
      try await eventually("no file of an app is open") { !openFiles().contains { $0.hasPrefix(apps) } }
    }
  }

  /// The paths of the files that this process has open.
  private func openFiles() -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
  }

  private func files(_ count: Int, _ fixture: EngineFixture) throws -> [SourceFile] {
    let folder = try fixture.folder.subfolder("app")
    return try (0..<count).map { number in
      let path = "\(folder)/\(number)"
      try Data("\(number)".utf8).write(to: URL(fileURLWithPath: path))
      defer { unlink(path) }
      return try SourceFile.open(path)
    }
  }

  private func uploads(_ count: Int) -> [TransferDescription] {
    (0..<count).map { .upload("/gone/\($0)", to: "http://h/", task: $0 + 1, running: false) }
  }

  private func refusal(_ reply: ServiceReply?) -> Refusal? {
    if case .refused(let refusal) = reply { refusal } else { nil }
  }

  /// Each upload gets its own, also where its name is gone; and messages follow as before.
  @Test func theFilesOfARequestArrive() async throws {
    try await withAttached { client, fixture, _ in
      for _ in 1...2 {
        let count = FilePassing.mostFiles
        guard case .created(let created)? = try await client.create(uploads(count), passing: files(count, fixture))
        else {
          Issue.record("they were not created")
          return
        }
        for (number, id) in created.transfers.enumerated() {
          #expect(try fixture.contentOfUpload(id) == Data("\(number)".utf8))
        }
        #expect(try await client.ask(.version) != nil)
      }
    }
  }

  @Test func filesOfARequestThatIsRefusedAreClosed() async throws {
    try await withAttached { client, fixture, _ in
      let reply = try await client.create(uploads(2), passing: files(3, fixture))
      #expect(refusal(reply)?.reason == .invalidRequest)
      // One that needs none.
      let download = TransferDescription.download("http://h/", task: 9, running: false)
      guard case .created? = try await client.create([download], passing: files(1, fixture)) else {
        Issue.record("it was not created")
        return
      }
    }
  }

  /// The app had too many open files on the way, or the service has too many open.
  @Test(arguments: [0, 1]) func filesThatDoNotAllArriveAreRefusedForNow(count: Int) async throws {
    try await withAttached { client, fixture, _ in
      let creation = CreateTasks(session: "s", tasks: uploads(2), files: 2)
      client.send(Array(try MessageFraming.frame(ClientMessage(id: 7, request: .createTasks(creation)))))
      try await client.filesWanted()
      try await client.pass(files(count, fixture))
      guard case .reply(7, let reply) = try await client.messages.next() else {
        Issue.record("there was no reply")
        return
      }
      #expect(refusal(reply)?.reason == .storage)
      guard case .created? = try await client.create(uploads(2), passing: files(2, fixture)) else {
        Issue.record("they were not created")
        return
      }
    }
  }

  @Test(arguments: [-1, 0, FilePassing.mostFiles + 1])
  func aCountThatIsNoneEndsTheConnection(count: Int) async throws {
    try await withAttached { client, _, _ in
      let creation = CreateTasks(session: "s", tasks: uploads(1), files: count)
      client.send(Array(try MessageFraming.frame(ClientMessage(id: 7, request: .createTasks(creation)))))
      try await client.closed.wait(within: patience)
    }
  }

  @Test func moreFilesThanWereAnnouncedEndTheConnection() async throws {
    try await withAttached { client, fixture, _ in
      let creation = CreateTasks(session: "s", tasks: uploads(1), files: 1)
      client.send(Array(try MessageFraming.frame(ClientMessage(id: 7, request: .createTasks(creation)))))
      try await client.filesWanted()
      try await client.pass(files(2, fixture))
      try await client.closed.wait(within: patience)
    }
  }

  @Test(arguments: [true, false]) func bytesWhereFilesAreToComeEndTheConnection(isAtOnce: Bool) async throws {
    try await withAttached { client, _, _ in
      let creation = CreateTasks(session: "s", tasks: uploads(1), files: 1)
      let frame = Array(try MessageFraming.frame(ClientMessage(id: 7, request: .createTasks(creation))))
      let next = Array(try MessageFraming.frame(ClientMessage(id: 8, request: .version)))
      client.send(isAtOnce ? frame + next : frame)
      if !isAtOnce {
        try await client.filesWanted()
        client.send(next)
      }
      try await client.closed.wait(within: patience)
    }
  }

  @Test func filesThatDoNotComeEndTheConnection() async throws {
    var limits = ConnectionLimits()
    limits.timeForMessage = .milliseconds(50)
    try await withAttached(limits) { client, _, _ in
      let creation = CreateTasks(session: "s", tasks: uploads(1), files: 1)
      client.send(Array(try MessageFraming.frame(ClientMessage(id: 7, request: .createTasks(creation)))))
      try await client.closed.wait(within: patience)
    }
  }

  /// The kernel closes what the service does not take.
  @Test func nothingIsAskedForBeforeHello() async throws {
    try await withAttached { _, _, path in
      let other = try await SocketClient.connect(path)
      let creation = CreateTasks(session: "s", tasks: uploads(1), files: 1)
      #expect(refusal(try await other.ask(.createTasks(creation)))?.reason == .invalidRequest)
      other.close()
    }
  }

  @Test func thereIsALimitToTheFilesOfAllApps() async throws {
    var limits = ConnectionLimits()
    limits.filesPerProgram = 2
    try await withAttached(limits) { client, fixture, _ in
      #expect(refusal(try await client.create(uploads(3), passing: files(3, fixture)))?.reason == .storage)
      guard case .created? = try await client.create(uploads(2), passing: files(2, fixture)) else {
        Issue.record("they were not created")
        return
      }
    }
  }
}
