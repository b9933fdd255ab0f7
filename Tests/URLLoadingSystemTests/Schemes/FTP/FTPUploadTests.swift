import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Files sent by FTP: STOR, and APPE where the request says so.
@Suite struct FTPUploadTests {
  private func request(_ server: ScriptedFTPServer, _ method: String?, _ path: String = "/pub/a.txt") throws
    -> URLRequest
  {
    var request = URLRequest(url: try server.url(path))
    if let method { request.httpMethod = method }
    return request
  }

  @Test(arguments: [(nil, "STOR"), ("PUT", "STOR"), ("POST", "STOR"), ("APPE", "APPE")] as [(String?, String)])
  func dataIsSent(method: String?, command: String) async throws {
    let pattern = BytePattern()
    let bytes = pattern.bytes(count: 3_000_000)
    try await withFTP(FTPScript()) { server, session, delegate in
      let (data, response) = try await session.upload(for: request(server, method), from: Data(bytes))
      #expect(data.isEmpty && response.expectedContentLength == 0 && !(response is HTTPURLResponse))
      #expect(server.uploads == [bytes])
      #expect(
        server.commands.starts(
          with: ["USER anonymous", "PASS anonymous@", "CWD pub", "TYPE I", "EPSV", "\(command) a.txt"]))
      let transaction = try #require(try await delegate.metrics.next().transactionMetrics.first)
      #expect(transaction.countOfRequestBodyBytesSent == 3_000_000)
    }
  }

  @Test func aFileAndAStreamAreSent() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    try BytePattern().write(toFile: file.path, count: 700_000)
    let contents = Array(try Data(contentsOf: file))
    try await withFTP(FTPScript()) { server, session, _ in
      _ = try await session.upload(for: request(server, "PUT"), fromFile: file)
      var streamed = try request(server, "PUT")
      streamed.httpBodyStream = InputStream(data: Data("by stream".utf8))
      _ = try await session.data(for: streamed)
      let isWhole = server.uploads == [contents, Array("by stream".utf8)]
      #expect(isWhole, "\(server.uploads.map(\.count)) bytes")
    }
  }

  @Test func progressIsToldAndAnEmptyFileIsMade() async throws {
    try await withFTP(FTPScript()) { server, session, delegate in
      let task = session.uploadTask(with: try request(server, "PUT"), from: Data(count: 100_000))
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(task.countOfBytesSent == 100_000 && delegate.errors.all.isEmpty)
      _ = try await session.upload(for: request(server, "PUT"), from: Data())
      #expect(server.uploads.map(\.count) == [100_000, 0])
    }
  }

  @Test(
    arguments: [
      ("550 Permission denied.\r\n", .noPermissionsToReadFile), ("553 not that name\r\n", .noPermissionsToReadFile),
      ("552 no room\r\n", .networkConnectionLost), ("502 no\r\n", .badServerResponse),
      ("530 log in\r\n", .userAuthenticationRequired),
    ] as [(String, URLError.Code)])
  func aServerThatTakesNothing(answer: String, code: URLError.Code) async throws {
    try await withFTP(FTPScript().with { $0.answers["STOR"] = answer }) { server, session, _ in
      let request = try request(server, "PUT")
      let error = await #expect(throws: URLError.self) { _ = try await session.upload(for: request, from: Data([1])) }
      #expect(error?.code == code, "\(error as Any)")
    }
  }

  /// The server says that it has not stored what it was sent, or says nothing more.
  @Test(arguments: ["452 full\r\n", "426 cut\r\n", ""]) func anEndThatIsNoSuccess(ending: String) async throws {
    try await withFTP(FTPScript().with { $0.ending = ending }) { server, session, _ in
      let request = try request(server, "PUT")
      let error = await #expect(throws: URLError.self) { _ = try await session.upload(for: request, from: Data([1])) }
      #expect(error?.code == .networkConnectionLost)
    }
  }

  /// A server can't know that it has all before it has read the end: its word is no success, and the next load has another
  /// connection.
  @Test(arguments: [0, 1, 4 << 20]) func aSuccessBeforeTheEndIsNone(count: Int) async throws {
    try await withFTP(FTPScript().with { $0.endsBeforeReading = true }) { server, session, _ in
      let request = try request(server, "PUT")
      let error = await #expect(throws: URLError.self) {
        _ = try await session.upload(for: request, from: Data(count: count))
      }
      #expect(error?.code == .networkConnectionLost, "\(error as Any)")
      _ = try? await session.data(for: self.request(server, "HEAD", "/pub/b.txt"))
      #expect(server.commands.count { $0.hasPrefix("USER") } == 2)
    }
  }

  /// The same without a word that the transfer begins.
  @Test(arguments: [0, 1]) func aSuccessInsteadOfABeginningIsNone(count: Int) async throws {
    try await withFTP(FTPScript().with { $0.answers["STOR"] = "226 stored\r\n" }) { server, session, _ in
      let request = try request(server, "PUT")
      let error = await #expect(throws: URLError.self) {
        _ = try await session.upload(for: request, from: Data(count: count))
      }
      #expect(error?.code == .networkConnectionLost, "\(error as Any)")
      _ = try? await session.data(for: self.request(server, "HEAD", "/pub/b.txt"))
      #expect(server.commands.count { $0.hasPrefix("USER") } == 2)
    }
  }

  /// Why a server hung up is what it says over the other connection.
  @Test func aServerThatStopsInTheMiddleSaysWhy() async throws {
    let script = FTPScript().with {
      $0.mostReceived = 10_000
      $0.ending = "452 the disk is full\r\n"
    }
    try await withFTP(script) { server, session, _ in
      let request = try request(server, "PUT")
      let error = await #expect(throws: URLError.self) {
        _ = try await session.upload(for: request, from: Data(count: 64 << 20))
      }
      #expect(error?.code == .networkConnectionLost)
      #expect(error?.localizedDescription.contains("the disk is full") == true, "\(error as Any)")
    }
  }

  @Test func aBodyShorterThanAnnouncedIsNoSuccess() async throws {
    try await withFTP(FTPScript()) { server, session, _ in
      var short = try request(server, "PUT")
      short.httpBodyStream = InputStream(data: Data("abc".utf8))
      short.setValue("10", forHTTPHeaderField: "Content-Length")
      let request = short
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .requestBodyStreamExhausted)
    }
  }

  @Test func headTellsOfAFile() async throws {
    try await withFTP(.file()) { server, session, _ in
      let (data, response) = try await session.data(for: request(server, "HEAD", "/a.txt"))
      #expect(data.isEmpty && response.expectedContentLength == 6)
      #expect(!server.commands.contains { $0.hasPrefix("RETR") || $0 == "EPSV" })
      let missing = try request(server, "HEAD", "/b.txt")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: missing) }
      #expect(error?.code == .fileDoesNotExist)
    }
  }
}
