import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

@Suite struct FTPLoaderTests {
  private static let quick = ["USER anonymous", "PASS anonymous@", "TYPE I", "SIZE a.txt", "EPSV", "RETR a.txt"]

  @Test(arguments: ["127.0.0.1", "::1"]) func aFileIsLoaded(host: String) async throws {
    try await withFTP(.file(), host: host) { server, session, delegate in
      let url = try server.url("/a.txt", host: host == "::1" ? "[::1]" : host)
      let (data, response) = try await session.data(from: url)
      #expect(String(decoding: data, as: UTF8.self) == "hello\n")
      #expect(!(response is HTTPURLResponse) && response.url == url)
      #expect(response.expectedContentLength == 6 && response.mimeType == "text/plain")
      #expect(response.suggestedFilename == "a.txt")
      let metrics = try await delegate.metrics.next().transactionMetrics
      let transaction = try #require(metrics.first)
      #expect(metrics.count == 1 && transaction.resourceFetchType == .networkLoad)
      #expect(transaction.networkProtocolName == "ftp" && transaction.remotePort == server.port)
      #expect(transaction.remoteAddress == host && !transaction.isProxyConnection && !transaction.isReusedConnection)
      #expect(transaction.countOfResponseBodyBytesReceived == 6)
      #expect(transaction.countOfRequestHeaderBytesSent > 0 && transaction.countOfResponseHeaderBytesReceived > 0)
      let dates = [
        transaction.fetchStartDate, transaction.connectStartDate, transaction.connectEndDate,
        transaction.requestStartDate, transaction.responseStartDate, transaction.responseEndDate,
      ].compactMap { $0 }
      #expect(dates.count == 6 && dates == dates.sorted())
      #expect(server.commands.starts(with: Self.quick))
    }
  }

  @Test func theServerIsToldGoodbye() async throws {
    let left = Gate()
    let script = FTPScript.file().with { $0.onCommand = { if $0 == "QUIT" { left.open() } } }
    try await withFTP(script) { server, session, _ in
      _ = try await session.data(from: server.url("/a.txt"))
      #expect(!left.isOpen)
      await session.flush()
      try await left.wait(within: patience)
    }
  }

  @Test func namesFoldersAndTypes() async throws {
    try await withFTP(.file("c d")) { server, session, _ in
      let url = try server.url("/%2Fetc/b/c%20d;type=a", user: "me:p%40ss@")
      let (data, response) = try await session.data(from: url)
      #expect(data.count == 6 && response.expectedContentLength == -1 && response.suggestedFilename == "c d")
      #expect(
        server.commands.starts(with: ["USER me", "PASS p@ss", "CWD /etc", "CWD b", "TYPE A", "EPSV", "RETR c d"]))
    }
  }

  @Test(arguments: [("/", "LIST"), ("/pub/", "LIST"), ("/pub;type=d", "NLST")])
  func foldersAreListed(path: String, command: String) async throws {
    try await withFTP(FTPScript()) { server, session, _ in
      let (data, response) = try await session.data(from: server.url(path))
      #expect(String(decoding: data, as: UTF8.self) == FTPScript().listing)
      #expect(response.mimeType == "text/plain" && response.expectedContentLength == -1)
      #expect(server.commands.contains(command) && !server.commands.contains { $0.hasPrefix("SIZE") })
    }
  }

  /// A listing for programs has no name in HTTP; its method is that of FTP.
  @Test func aFolderIsListedForPrograms() async throws {
    let facts = "type=file;size=6;modify=20200102030405; a.txt\r\n"
    try await withFTP(FTPScript().with { $0.listing = facts }) { server, session, _ in
      var request = URLRequest(url: try server.url("/pub/"))
      request.httpMethod = "MLSD"
      let (data, response) = try await session.data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == facts && response.mimeType == "text/plain")
      #expect(server.commands.contains("MLSD") && !server.commands.contains("LIST"))
    }
  }

  /// A server without EPSV that names another host for the data: it comes from where the server is.
  @Test(arguments: ["500 what?\r\n", "502 no\r\n", "522 (1)\r\n", "229 (nonsense)\r\n"])
  func theAddressOfAPassiveReplyIsNotBelieved(answer: String) async throws {
    try await withFTP(.file().with { $0.answers["EPSV"] = answer }) { server, session, _ in
      guard answer.hasPrefix("5") else {
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/a.txt")) }
        #expect(error?.code == .badServerResponse)
        return
      }
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data.count == 6 && server.commands.contains("PASV"))
    }
  }

  @Test(arguments: [
    "220-Welcome\r\n to\r\n220-this\r\n220 place\r\n", "220 ready\n", "120 soon\r\n220 now\r\n", "220\r\n",
    String(repeating: "220-\(String(repeating: "x", count: 200))\r\n", count: 900) + "220 .\r\n",
  ])
  func greetings(greeting: String) async throws {
    try await withFTP(.file().with { $0.greeting = greeting }) { server, session, _ in
      let (data, _) = try await session.data(from: server.url("/a.txt"))
      #expect(data.count == 6)
    }
  }

  @Test(arguments: [
    ("SIZE", "500 what?\r\n"), ("USER", "230 come in\r\n"), ("PASS", "202 not needed\r\n"),
    ("TYPE", "200-a\r\n200 b\r\n"),
  ])
  func serversThatAreOtherwise(verb: String, answer: String) async throws {
    try await withFTP(.file().with { $0.answers[verb] = answer }) { server, session, _ in
      let (data, response) = try await session.data(from: server.url("/a.txt"))
      #expect(data.count == 6 && response.expectedContentLength == (verb == "SIZE" ? -1 : 6))
      if answer.hasPrefix("230") { #expect(!server.commands.contains { $0.hasPrefix("PASS") }) }
    }
  }

  // MARK: Tasks

  @Test func aDownloadTask() async throws {
    let delegate = RecordingDelegate()
    let contents = Mutex(Data())
    delegate.onFile = { file in contents.withLock { $0 = (try? Data(contentsOf: file)) ?? Data() } }
    let pattern = BytePattern()
    let script = FTPScript().with { $0.files = ["big": pattern.bytes(count: 3_000_000)] }
    try await withFTP(script, delegate: delegate) { server, session, _ in
      let task = session.downloadTask(with: try server.url("/big"))
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(contents.withLock { $0.count == 3_000_000 && pattern.matches($0) })
      #expect(task.countOfBytesExpectedToReceive == 3_000_000 && task.countOfBytesReceived == 3_000_000)
      #expect(delegate.summary.suffix(3) == ["metrics", "file", "completed"])
    }
  }

  /// What is not pulled is not read: a server whose client is suspended waits, and goes on when it is resumed.
  @Test func aSuspendedTaskHoldsTheServer() async throws {
    let delegate = RecordingDelegate()
    let held = Gate()
    delegate.onResponse = { task, _ in
      task.suspend()
      held.open()
      return .allow
    }
    let count = 64 << 20
    let script = FTPScript().with { $0.files = ["big": Array(repeating: 7, count: count)] }
    try await withFTP(script, delegate: delegate) { server, session, _ in
      let task = session.dataTask(with: try server.url("/big"))
      task.resume()
      try await held.wait(within: patience)
      try await server.data.waitForOpenConnections(1)
      #expect(!delegate.done.isOpen && task.countOfBytesReceived < count)
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.isEmpty && delegate.received.withLock { $0.count } == count)
    }
  }

  @Test func aCancelledTaskHangsUp() async throws {
    let delegate = RecordingDelegate()
    delegate.onResponse = { task, _ in
      task.cancel()
      return .allow
    }
    let script = FTPScript().with { $0.files = ["big": Array(repeating: 7, count: 64 << 20)] }
    try await withFTP(script, delegate: delegate) { server, session, _ in
      session.dataTask(with: try server.url("/big")).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.map(\.code) == [.cancelled])
      try await server.expectNoOpenConnections()
    }
  }

  @Test func bytesThatNobodyReadsOn() async throws {
    let script = FTPScript().with { $0.files = ["big": Array(repeating: 7, count: 64 << 20)] }
    try await withFTP(script) { server, session, _ in
      let (bytes, _) = try await session.bytes(from: server.url("/big"))
      for try await byte in bytes.prefix(3) { #expect(byte == 7) }
    }
  }
}
