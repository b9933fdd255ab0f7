import Foundation
import LoopbackServer
import Testing
import TransferScript

/// What servers and networks do to a background download.
@Suite(.fewAtATime) struct NetworkTests {
  /// Downloads one file to its end, with what the server does to it.
  private func download(_ file: FileResource, _ more: (Home) throws -> Void = { _ in }) async throws {
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      try more(home)
      try await home.expectNothingKept()
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func cutsAndResets() async throws {
    let file = FileResource(size: 6 << 20)
    file.update {
      $0.cuts = [
        .after(1 << 20), .after(500_000, .reset), .after(0, .reset), .after(700_001, .closeGracefully), .after(1),
      ]
    }
    try await download(file) { home in
      #expect(file.served.count == 6)
      // A reset may take with it what the client had not read yet; an orderly end takes nothing.
      #expect(file.served[1].offset == 1 << 20)
      #expect(file.served[5].offset == file.served[4].offset + 1)
      // The third brought nothing, so the fourth went on where the third was said to.
      #expect(home.log().count(.didResumeAtOffset) == 4)
    }
    file.expectLittleLost()
  }

  @Test func aLengthThatNobodyKnows() async throws {
    let file = FileResource(size: 3 << 20)
    file.update {
      $0.hidesLength = true
      $0.cuts = [.after(1 << 20)]
    }
    try await download(file) { _ in #expect(file.served.count == 2) }
  }

  @Test func aFileThatChangesMidway() async throws {
    let file = FileResource(size: 3 << 20)
    let new = FileResource.Version(size: 2_500_000, seed: 2)
    file.update {
      $0.cuts = [.after(1 << 20)]
      $0.replacement = (new, beforeRequest: 2)
    }
    try await download(file) { _ in
      #expect(file.served.map(\.status) == [200, 200])
      #expect(file.served[1].ifRange == "\"seed-1-size-3145728\"")
    }
    #expect(file.version.pattern == new.pattern)
  }

  @Test func aServerWithoutValidators() async throws {
    let version = {
      var version = FileResource.Version(size: 3 << 20, lastModified: nil)
      version.etag = nil
      return version
    }()
    let file = FileResource(version)
    file.update { $0.cuts = [.after(1 << 20)] }
    try await download(file) { _ in
      // Nothing says that the rest would belong to the beginning.
      #expect(file.served.map(\.rangeField) == [nil, nil] && file.served.map(\.status) == [200, 200])
    }
  }

  @Test func aServerWithoutRanges() async throws {
    let file = FileResource(size: 3 << 20)
    file.update {
      $0.supportsRanges = false
      $0.cuts = [.after(1 << 20)]
    }
    try await download(file) { _ in #expect(file.served.map(\.status) == [200, 200]) }
  }

  @Test func aServerThatIsGoneForAWhile() async throws {
    let file = FileResource(size: 8 << 20)
    file.update { $0.cuts = [.after(3 << 20, .stall)] }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await eventually("bytes") { home.partialSize() >= 2 << 20 }
      let url = server.url("/f")
      await server.shutdown()
      let port = try UnservedPort(server.port)
      // It is refused now; the service must have noticed that twice.
      try await eventually("two failures") {
        let log = try String(contentsOfFile: home.stateFolder + "/urlsessiond.log", encoding: .utf8)
        return log.components(separatedBy: "will be tried again").count > 2
      }
      #expect(home.log().count(.didComplete) == 0)
      var options = LoopbackServer.Options()
      options.port = port.number
      let again = try await LoopbackServer.start(options: options) { file.reply(to: $0) }
      #expect(again.url("/f") == url)
      try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      file.expectLittleLost()
      #expect(file.served.count == 2)
      try await home.expectNothingKept()
      try await app.quit()
      await again.shutdown()
    }
  }

  /// An answer is an answer: what a server says of a missing file is what arrives.
  @Test func aMissingFileIsAResult() async throws {
    let server = try await LoopbackServer.start { _ in .status(404, body: "no such file") }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      let end = try await home.log().waitFor(.didComplete, label: "f")
      #expect(end.error == nil && end.status == 404 && end.bytes == 12)
      #expect(FileManager.default.contents(atPath: home.app().file("f")) == Data("no such file".utf8))
      #expect(server.requests.count == 1)
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  @Test func redirectsAreFollowedAgainAfterACut() async throws {
    let file = FileResource(size: 3 << 20)
    file.update { $0.cuts = [.after(1 << 20)] }
    let server = try await LoopbackServer.start { request in
      switch request.path {
      case "/start": .redirect(to: "/middle", status: 301)
      case "/middle": .redirect(to: "/f", status: 307)
      default: file.reply(to: request)
      }
    }
    try await Home.run { home in
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/start").absoluteString, label: "f"))
      let end = try await home.log().waitFor(.didComplete, label: "f")
      home.expectArrived("f", file.version)
      #expect(end.responseURL == server.url("/f").absoluteString && end.url == server.url("/start").absoluteString)
      #expect(file.served.map(\.offset) == [0, 1 << 20])
      #expect(server.requests.map(\.path) == ["/start", "/middle", "/f", "/start", "/middle", "/f"])
      try await home.expectNothingKept()
      try await app.quit()
    }
    await server.shutdown()
  }

  @Test func aHostThatIsNotThereIsTriedAgainAndCanBeCancelled() async throws {
    try await Home.run { home in
      let app = try await home.start()
      // Port 1 of the loopback interface: no process listens there.
      try await app.tell(.download(url: "http://127.0.0.1:1/f", label: "f"))
      try await eventually("a failure") {
        (try? String(contentsOfFile: home.stateFolder + "/urlsessiond.log", encoding: .utf8))?
          .contains("will be tried again") ?? false
      }
      try await app.tell(.cancel(label: "f"))
      #expect(try await home.log().waitFor(.didComplete, label: "f").error == URLError.Code.cancelled.rawValue)
      #expect(home.log().count(.didFinishDownloading) == 0)
      try await home.expectNothingKept()
      try await app.quit()
    }
  }
}
