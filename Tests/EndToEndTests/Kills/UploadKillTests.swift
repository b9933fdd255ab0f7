import Foundation
import LoopbackServer
import Testing
import TransferScript

/// Uploads whose service dies and whose app is gone.
@Suite(.fewAtATime) struct UploadKillTests {
  private static let size = 4 << 20
  private static let kept = 1 << 20

  private static func makeFile(_ home: Home, seed: UInt64 = 1) throws -> String {
    let path = home.path + "/file"
    try Data(BytePattern(seed: seed).bytes(count: size)).write(to: URL(fileURLWithPath: path))
    return path
  }

  private static func has(_ offset: Int) -> Reply {
    .status(204, fields: [("Upload-Offset", "\(offset)"), ("Upload-Complete", "?0")])
  }

  private static let thanks: [ReplyStep] = [
    .readRequestBody(), .head(201, fields: [("Content-Length", "6")]), .body("thanks"),
  ]

  private static func server(_ reply: @escaping @Sendable (String) -> Reply) async throws -> LoopbackServer {
    var options = LoopbackServer.Options()
    options.recordBodies = .keep(size)
    options.onHead = { .reply(reply($0.method)) }
    return try await LoopbackServer.start(options: options) { _ in .status(500) }
  }

  /// The server gets the rest of what the file was when the app was told that the service has it.
  @Test func theRestOfTheOldFileIsSentAndTheAppIsStarted() async throws {
    let (arrived, gate) = (Gate(), Gate())
    let server = try await Self.server { method in
      switch method {
      case "POST":
        Reply([
          .informational(104, fields: [("Upload-Draft-Interop-Version", "6"), ("Location", "/resume/1")]),
          .readRequestBody(upTo: Int64(Self.kept)), .open(arrived), .stall,
        ])
      case "HEAD": Self.has(Self.kept)
      case "PATCH": Reply([.waitFor(gate)] + Self.thanks)
      default: .status(500)
      }
    }
    try await Home.run(["URLSESSIOND_LAUNCH_GRACE": "0.2"]) { home in
      let path = try Self.makeFile(home)
      let app = try await home.start()
      try await app.tell(.upload(url: server.url("/u").absoluteString, file: path, label: "u", method: "POST"))
      try await app.tell(.flush)
      try await arrived.wait(within: patience)
      try await eventually("the place in the queue") { home.serviceLog.contains("can go on where its server has it") }
      // In place, and then removed.
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.write(contentsOf: Data("changed".utf8))
      try handle.close()
      try FileManager.default.removeItem(atPath: path)
      try await home.killService()
      try await app.kill9()
      gate.open()
      try await home.log().waitFor(.launchHandled)
      let heard = home.log().entries.filter { $0.process != app.pid && $0.label == "u" }
      #expect(heard.filter { $0.kind == .didReceiveData }.map(\.text) == ["thanks"])
      #expect(heard.last?.kind == .didComplete && heard.last?.error == nil && heard.last?.status == 201)
      let rest = try #require(server.requests.last { $0.method == "PATCH" })
      let whole = BytePattern().bytes(count: Self.size)
      let first = try #require(server.heads.first)
      #expect(first.method == "POST" && server.heads.count { $0.method == "POST" } == 1)
      #expect(rest.body.bytes == Array(whole.dropFirst(Self.kept)))
      try await home.expectNothingKept()
    }
    await server.shutdown()
  }

  /// A server that can't resume gets the whole again.
  @Test func withoutTheDraftItBeginsAnew() async throws {
    let arrived = Gate()
    let tries = Monitor(0)
    let server = try await Self.server { _ in
      tries.update { $0 += 1 }
      return tries.current == 1
        ? Reply([.readRequestBody(upTo: Int64(Self.kept)), .open(arrived), .stall]) : Reply(Self.thanks)
    }
    try await Home.run { home in
      let path = try Self.makeFile(home)
      let app = try await home.start()
      try await app.tell(.upload(url: server.url("/u").absoluteString, file: path, label: "u"))
      try await app.tell(.flush)
      try await arrived.wait(within: patience)
      _ = try Self.makeFile(home, seed: 2)
      try await home.killService()
      try await home.log().waitFor(.didComplete, label: "u")
      let heard = home.log().entries.filter { $0.label == "u" }
      #expect(heard.last?.error == nil && heard.last?.status == 201)
      #expect(heard.filter { $0.kind == .didReceiveData }.map(\.text) == ["thanks"])
      #expect(heard.last { $0.kind == .didSendBodyData }?.expected == Int64(Self.size))
      #expect(server.requests.last?.body.bytes == BytePattern().bytes(count: Self.size))
      // The file is the app's.
      #expect(FileManager.default.fileExists(atPath: path))
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }
}
