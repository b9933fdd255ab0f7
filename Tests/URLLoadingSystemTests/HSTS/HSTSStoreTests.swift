import Foundation
import HTTPSemantics
import LoopbackServer
import SystemServices
import Testing

@testable import URLLoadingSystem

/// Hosts that want to be loaded over TLS only (RFC 6797), as sessions keep them.
@Suite struct HSTSStoreTests {
  private static let policy = "max-age=3600"

  /// A server over TLS that states a policy, and a session that trusts it.
  private static func withServer(
    _ policy: String = HSTSStoreTests.policy, _ change: (URLSessionConfiguration) -> Void = { _ in },
    delegate: (any URLSessionDelegate)? = nil,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await LoopbackServer.start(tls: ServerTLS(identity)) {
      .ok($0.target, fields: [("Strict-Transport-Security", policy)])
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.trustRoots = .file(identity.authorityFile)
    change(configuration)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    try await body(server, session)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private static func plain(_ server: LoopbackServer, _ path: String) throws -> URL {
    try #require(URL(string: "http://localhost:\(server.port)\(path)"))
  }

  private static func secure(_ server: LoopbackServer, _ path: String) throws -> URL {
    try #require(URL(string: "https://localhost:\(server.port)\(path)"))
  }

  @Test func aKnownHostIsLoadedOverTLS() async throws {
    try await Self.withServer { server, session in
      // Not known yet: it is spoken to in plain HTTP, which it does not understand.
      await #expect(throws: URLError.self) { _ = try await session.data(from: Self.plain(server, "/1")) }
      _ = try await session.data(from: Self.secure(server, "/2"))
      let (data, response) = try await session.data(from: Self.plain(server, "/3?a=b"))
      #expect(String(decoding: data, as: UTF8.self) == "/3?a=b")
      #expect(response.url?.absoluteString == "https://localhost:\(server.port)/3?a=b")
    }
  }

  /// The stage stands before App Transport Security, which looks at what is loaded.
  @Test func appTransportSecurityLooksAtTheSecureURL() async throws {
    try await Self.withServer(HSTSStoreTests.policy, { $0.appTransportSecurity = AppTransportSecurity() }) {
      server, session in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: Self.plain(server, "/1")) }
      #expect(error?.code == .appTransportSecurityRequiresSecureConnection)
      _ = try await session.data(from: Self.secure(server, "/2"))
      _ = try await session.data(from: Self.plain(server, "/3"))
    }
  }

  @Test func everyHopOfARedirectIsLookedAt() async throws {
    try await Self.withServer { server, session in
      _ = try await session.data(from: Self.secure(server, "/known"))
      let target = try Self.plain(server, "/target").absoluteString
      let first = try await LoopbackServer.start { _ in .status(302, fields: [("Location", target)]) }
      let (data, response) = try await session.data(from: first.url())
      #expect(String(decoding: data, as: UTF8.self) == "/target" && response.url?.scheme == "https")
      await first.shutdown()
    }
  }

  @Test func aHostTakesItsPolicyBack() async throws {
    try await Self.withServer("max-age=0") { server, session in
      let store = try #require(session.configuration.hsts)
      store.note(try #require(StrictTransportSecurity(parsing: Self.policy)), from: "localhost", at: .max / 2)
      _ = try await session.data(from: Self.plain(server, "/1"))
      #expect(store.secured(URIReference("http://localhost/"), at: 0) == nil)
    }
  }

  /// RFC 6797 §8.1: a policy over a connection whose certificate the rules refuse does not count.
  @Test func theWordOfAHostThatOnlyTheAppTrustsDoesNotCount() async throws {
    final class Trusting: NSObject, URLSessionDelegate {
      func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
      ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
      }
    }
    for isTrusted in [false, true] {
      try await Self.withServer(
        HSTSStoreTests.policy, { if !isTrusted { $0.trustRoots = .system } }, delegate: Trusting()
      ) { server, session in
        _ = try await session.data(from: Self.secure(server, "/1"))
        let known = session.configuration.hsts?.secured(URIReference("http://localhost/"), at: 0)
        #expect((known != nil) == isTrusted)
      }
    }
  }

  /// Another port of the host may have a certificate that the rules trust.
  @Test func serversAreDoubtedByPort() throws {
    let store = HSTSStore()
    let policy = try #require(StrictTransportSecurity(parsing: Self.policy))
    store.judge("a.example", port: 8443, isTrusted: false)
    store.note(policy, from: "a.example", port: 8443, at: 0)
    #expect(store.secured(URIReference("http://a.example/"), at: 0) == nil)
    store.judge("a.example", port: 443, isTrusted: true)
    store.note(policy, from: "a.example", port: 8443, at: 0)
    #expect(store.secured(URIReference("http://a.example/"), at: 0) == nil)
    store.note(policy, from: "a.example", port: 443, at: 0)
    #expect(store.secured(URIReference("http://a.example/"), at: 0) != nil)
  }

  /// A server that is doubted is not believed because the app vouched for many others since.
  @Test func noDoubtIsForgottenForOthers() throws {
    let store = HSTSStore()
    let policy = try #require(StrictTransportSecurity(parsing: Self.policy))
    for number in 0..<11_000 { store.judge("h\(number).example", port: 443, isTrusted: false) }
    for number in [0, 999, 9_999, 10_999] {
      store.note(policy, from: "h\(number).example", at: 0)
      #expect(store.secured(URIReference("http://h\(number).example/"), at: 0) == nil)
    }
  }

  /// The program behind a socket is not the host that the URL names: it neither speaks for the host, nor is it loaded over
  /// TLS because the host wants to be.
  @Test(arguments: [true, false]) func aUnixSocketHasNoPartInIt(isSecure: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("h\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let identity = try TestCertificates.shared().localhost
    var options = LoopbackServer.Options()
    options.socketPath = folder.path + "/s"
    let server = try await LoopbackServer.start(tls: isSecure ? ServerTLS(identity) : nil, options: options) { _ in
      .ok("in", fields: [("Strict-Transport-Security", Self.policy)])
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.trustRoots = .file(identity.authorityFile)
    configuration.unixSocketPath = options.socketPath
    let store = try #require(configuration.hsts)
    if !isSecure {
      store.note(try #require(StrictTransportSecurity(parsing: Self.policy)), from: "localhost", at: .max / 2)
    }
    let session = URLSession(configuration: configuration)
    let url = try #require(URL(string: isSecure ? "https://localhost/" : "http://localhost/"))
    let (data, response) = try await session.data(from: url)
    #expect(data == Data("in".utf8) && response.url == url)
    if isSecure { #expect(store.isEmpty) }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// RFC 6797 §8.3 is about every scheme; of a socket the handshake is what is loaded.
  @Test func aSocketOfAKnownHostIsOpenedOverTLS() async throws {
    let identity = try TestCertificates.shared().localhost
    try await withPeer(
      tls: ServerTLS(identity),
      { peer in
        try await peer.open()
        try await peer.echo()
      }
    ) { server in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.trustRoots = .file(identity.authorityFile)
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let store = try #require(configuration.hsts)
      store.note(try #require(StrictTransportSecurity(parsing: Self.policy)), from: "localhost", at: .max / 2)
      let task = session.webSocketTask(with: try #require(URL(string: "ws://localhost:\(server.port)/chat")))
      task.resume()
      try await task.send(.string("hi"))
      #expect(try await task.receive().text == "hi")
      #expect(task.response?.url?.scheme == "wss" || task.currentRequest?.url?.scheme == "wss")
      task.cancel(with: .normalClosure, reason: nil)
    }
  }

  @Test func ephemeralSessionsKeepToThemselves() {
    let one = URLSessionConfiguration.ephemeral
    #expect(one.hsts !== URLSessionConfiguration.ephemeral.hsts && one.hsts !== HSTSStore.shared)
    #expect(URLSessionConfiguration.default.hsts === HSTSStore.shared)
  }

  // MARK: The file

  private static func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hsts-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  private static func isKnown(_ host: String, _ path: String) async -> Bool {
    await HSTSFile(path: path).read().contains(host, at: 1_000)
  }

  /// The transfer service reads the app's file, also what came into it later, and leaves it as it is.
  @Test func theFileOfAnotherProcessIsReadAgainAndNotWritten() async throws {
    try await Self.withFolder { folder in
      let path = folder + "/hsts.json"
      let policy = try #require(StrictTransportSecurity(parsing: "max-age=3600"))
      func add(_ host: String) async {
        await HSTSFile(path: path).change { _ = $0.note(policy, from: host, at: 1_000) }
      }
      func isSecured(_ host: String, by store: HSTSStore) -> Bool {
        store.secured(URIReference("http://\(host)/"), at: 1_000) != nil
      }
      await add("one.example")
      let store = HSTSStore(reading: HSTSFile(path: path), pause: .zero)
      #expect(!store.isRead && store.path == path)
      await store.read()
      #expect(isSecured("one.example", by: store))
      store.note(policy, from: "heard.example", at: 1_000)
      await add("two.example")
      store.readAgain()
      #expect(!store.isRead)
      await store.read()
      for host in ["one.example", "two.example", "heard.example"] { #expect(isSecured(host, by: store), "\(host)") }
      let isWritten = await Self.isKnown("heard.example", path)
      #expect(!isWritten)
      store.removeAll()
      #expect(store.isEmpty)
      let isLeft = await Self.isKnown("two.example", path)
      #expect(isLeft)
    }
  }

  /// A service that runs hundreds of transfers a second does not look at it for each.
  @Test func theFileOfAnotherProcessIsLookedAtNowAndThen() async throws {
    try await Self.withFolder { folder in
      let store = HSTSStore(reading: HSTSFile(path: folder + "/hsts.json"), pause: .seconds(3_600))
      store.readAgain()
      #expect(!store.isRead, "it was not looked at yet")
      await store.read()
      store.readAgain()
      #expect(store.isRead)
    }
  }

  /// One that can't be read takes none of the known hosts.
  @Test func aFileThatComesOrGoesIsNoticed() async throws {
    try await Self.withFolder { folder in
      let file = HSTSFile(path: folder + "/hsts.json")
      let policy = try #require(StrictTransportSecurity(parsing: "max-age=3600"))
      let store = HSTSStore(reading: file, pause: .zero)
      func isEmptyAfterAnotherLook() async -> Bool {
        store.readAgain()
        await store.read()
        return store.isEmpty
      }
      var isEmpty = await isEmptyAfterAnotherLook()
      #expect(isEmpty)
      await file.change { _ = $0.note(policy, from: "one.example", at: 1_000) }
      for _ in 1...2 {
        isEmpty = await isEmptyAfterAnotherLook()
        #expect(!isEmpty)
      }
      try FileManager.default.moveItem(atPath: file.path, toPath: folder + "/kept")
      try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: true)
      isEmpty = await isEmptyAfterAnotherLook()
      #expect(!isEmpty)
      try FileManager.default.removeItem(atPath: file.path)
      isEmpty = await isEmptyAfterAnotherLook()
      #expect(isEmpty)
      try FileManager.default.moveItem(atPath: folder + "/kept", toPath: file.path)
      isEmpty = await isEmptyAfterAnotherLook()
      #expect(!isEmpty)
    }
  }

  @Test func aFileThatHasNotChangedIsNotReadAgain() async throws {
    try await Self.withFolder { folder in
      let file = HSTSFile(path: folder + "/hsts.json")
      let policy = try #require(StrictTransportSecurity(parsing: "max-age=3600"))
      for host in ["one.example", "two.example"] {
        await file.change { _ = $0.note(policy, from: host, at: 1_000) }
        let first = await file.read(unless: HSTSFile.Version(of: folder + "/none"))
        guard case .read(let hosts, let version) = first, case .unchanged = await file.read(unless: version) else {
          Issue.record("\(first)")
          return
        }
        #expect(hosts.contains(host, at: 1_000))
      }
    }
  }

  /// A reader of a pipe would wait for its writer.
  @Test func onlyAFileIsRead() async throws {
    try await Self.withFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try #require(mkfifo(folder + "/pipe", 0o600) == 0)
      let known = await HSTSFile(path: folder + "/pipe", limit: .seconds(60)).read()
      #expect(known.isEmpty)
    }
  }

  @Test func theAppsHostsOutliveTheProcess() async throws {
    try await Self.withFolder { folder in
      let path = folder + "/app/hsts.json"
      let policy = try #require(StrictTransportSecurity(parsing: "max-age=3600; includeSubDomains"))
      let store = HSTSStore(file: HSTSFile(path: path))
      #expect(!store.isRead)
      store.note(policy, from: "one.example", at: 1_000)
      // Another process of the app.
      HSTSStore(file: HSTSFile(path: path)).note(policy, from: "two.example", at: 1_000)
      try await eventually("both hosts are in the file") {
        let (one, two) = (await Self.isKnown("a.one.example", path), await Self.isKnown("two.example", path))
        return one && two
      }
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      let next = HSTSStore(file: HSTSFile(path: path))
      #expect(next.secured(URIReference("http://two.example/"), at: 1_000) == nil)
      await next.read()
      #expect(next.secured(URIReference("http://two.example/x"), at: 1_000)?.text == "https://two.example/x")
    }
  }

  /// A write that is under way when all hosts are forgotten does not bring them back.
  @Test func forgottenHostsDoNotComeBackFromAWriteUnderWay() async throws {
    try await Self.withFolder { folder in
      let path = folder + "/hsts.json"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let policy = try #require(StrictTransportSecurity(parsing: Self.policy))
      let store = HSTSStore(file: HSTSFile(path: path))
      // The write waits for another process.
      var lock: FileLock? = try FileLock.acquire(path + ".lock")
      #expect(lock != nil)
      store.note(policy, from: "before.example", at: 1_000)
      try await eventually("the write is under way") { store.isRead }
      store.removeAll()
      store.note(policy, from: "after.example", at: 1_000)
      lock = nil
      try await eventually("the host that was noted since is in the file") { await Self.isKnown("after.example", path) }
      #expect(await !Self.isKnown("before.example", path))
    }
  }

  /// What was learned before the file was read is not lost with it.
  @Test func readingKeepsWhatWasLearnedMeanwhile() async throws {
    try await Self.withFolder { folder in
      let path = folder + "/hsts.json"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data("no JSON".utf8).write(to: URL(fileURLWithPath: path))
      let store = HSTSStore(file: HSTSFile(path: path))
      store.note(try #require(StrictTransportSecurity(parsing: Self.policy)), from: "a.example", at: 1_000)
      await store.read()
      #expect(store.secured(URIReference("http://a.example/"), at: 1_000) != nil)
      try await eventually("the damaged file is replaced") { await Self.isKnown("a.example", path) }
      store.removeAll()
      #expect(store.secured(URIReference("http://a.example/"), at: 1_000) == nil)
      try await eventually("the file is gone") { !FileManager.default.fileExists(atPath: path) }
    }
  }
}
