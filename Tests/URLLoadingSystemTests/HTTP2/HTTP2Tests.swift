import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// What HTTP/2 adds, against a server whose framing was written by others.
@Suite struct HTTP2Tests {
  private func overHTTP2(
    options: LoopbackServer.Options = .init(), connections: Int = 6, _ handler: @escaping LoopbackServer.Handler,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    try await WireVersion.$current.withValue(.http2) {
      try await withServer(options: options, handler) { server in
        let configuration = URLSessionConfiguration.loopback
        configuration.httpMaximumConnectionsPerHost = connections
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        try await body(server, session)
      }
    }
  }

  private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

  @Test func oneConnectionServesManyAtOnce() async throws {
    let arrived = Recorder<Void>()
    let all = Gate()
    try await overHTTP2({ request in
      arrived.record(())
      return .ok(request.target).preceded(by: [.waitFor(all)])
    }) { server, session in
      try await withThrowingTaskGroup(of: String.self) { group in
        for number in 0..<60 { group.addTask { text(try await session.data(from: server.url("/\(number)")).0) } }
        _ = try await arrived.first(60)
        all.open()
        var answers: Set<String> = []
        for try await answer in group { answers.insert(answer) }
        #expect(answers == Set((0..<60).map { "/\($0)" }))
      }
      #expect(server.connectionCount == 1)
      #expect(server.requests.allSatisfy { $0.version == "HTTP/2" && $0.tls?.negotiatedProtocol == "h2" })
    }
  }

  /// Five requests at a time, of a server that takes two on a connection.
  @Test(arguments: [(6, 3), (2, 2)])
  func whenTheStreamsRunOutAnotherConnectionIsMade(_ limit: Int, _ expected: Int) async throws {
    var options = LoopbackServer.Options()
    options.http2Streams = 2
    let arrived = Recorder<Void>()
    let all = Gate()
    try await overHTTP2(
      options: options, connections: limit,
      { request in
        guard request.path != "/first" else { return .ok("") }
        arrived.record(())
        return .ok(request.target).preceded(by: [.waitFor(all)])
      }
    ) { server, session in
      // The limit is known once the first answer is there.
      _ = try await session.data(from: server.url("/first"))
      try await withThrowingTaskGroup(of: String.self) { group in
        for number in 0..<5 { group.addTask { text(try await session.data(from: server.url("/\(number)")).0) } }
        _ = try await arrived.first(min(5, 2 * limit))
        #expect(server.connectionCount == expected)
        all.open()
        var answers: Set<String> = []
        for try await answer in group { answers.insert(answer) }
        #expect(answers == Set((0..<5).map { "/\($0)" }))
      }
      #expect(server.connectionCount == expected)
    }
  }

  @Test func theServersLimitOfStreamsIsKept() async throws {
    var options = LoopbackServer.Options()
    options.http2Streams = 3
    let running = Mutex((now: 0, most: 0))
    try await overHTTP2(
      options: options, connections: 1,
      { request in
        running.withLock {
          $0.now += 1
          $0.most = max($0.most, $0.now)
        }
        defer { running.withLock { $0.now -= 1 } }
        try await Task.sleep(for: .milliseconds(2))
        return .ok(request.target)
      }
    ) { server, session in
      // The limit is known once the first answer is there.
      _ = try await session.data(from: server.url("/first"))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<40 {
          group.addTask {
            let (data, _) = try await session.data(from: server.url("/\(number)"))
            #expect(text(data) == "/\(number)")
          }
        }
        try await group.waitForAll()
      }
      #expect(server.connectionCount == 1)
      #expect(running.withLock { $0.most } <= 3)
    }
  }

  /// Of a server that turns out to speak HTTP/1.1 all connections that are allowed are opened.
  @Test func aServerWithoutItGetsItsConnections() async throws {
    let arrived = Recorder<Void>()
    let server = try await LoopbackServer.start(tls: .localhost()) {
      arrived.record(())
      _ = try await arrived.first(6)
      return .ok($0.target)
    }
    let session = URLSession(configuration: .loopback)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<30 { group.addTask { _ = try await session.data(from: server.url("/\(number)")) } }
      try await group.waitForAll()
    }
    #expect(server.connectionCount == 6)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func theRequestHasNoFieldsOfTheConnection() async throws {
    try await overHTTP2({ _ in .ok("") }) { server, session in
      var request = URLRequest(url: server.url("/a?b"))
      request.setValue("one", forHTTPHeaderField: "X-One")
      for name in ["Connection", "Upgrade", "Keep-Alive", "Transfer-Encoding", "Proxy-Connection", "TE"] {
        request.setValue("x", forHTTPHeaderField: name)
      }
      let (_, response) = try await session.data(for: request)
      let seen = try await server.nextRequest()
      #expect(seen.target == "/a?b" && seen.value("host") == "127.0.0.1:\(server.port)")
      #expect(seen.value("x-one") == "one")
      #expect(seen.fields.allSatisfy { $0.name == $0.name.lowercased() })
      for name in ["connection", "upgrade", "keep-alive", "transfer-encoding", "proxy-connection", "te"] {
        #expect(seen.value(name) == nil, "\(name)")
      }
      // 0.5 is the protocol's own default.
      #expect(seen.value("priority") == nil)
      let head = try #require(response as? HTTPURLResponse)
      #expect(head.head.version == .http2)
      #expect(head.allHeaderFields["Content-Type"] as? String == "text/plain; charset=utf-8")
    }
  }

  @Test(arguments: [(URLSessionTask.highPriority, "u=1"), (URLSessionTask.lowPriority, "u=5"), (1, "u=0")])
  func theServerIsToldOfPriorities(_ priority: Float, _ expected: String) async throws {
    try await overHTTP2({ _ in .ok("") }) { server, session in
      let task = session.dataTask(with: server.url())
      task.priority = priority
      task.resume()
      let seen = try await server.nextRequest()
      #expect(seen.value("priority") == expected)
    }
  }

  @Test func bodiesGoUpAndDown() async throws {
    let count: Int64 = 5_000_000
    let pattern = BytePattern()
    try await overHTTP2({ request in
      #expect(request.body.digest == pattern.digest(count: count))
      return .pattern(pattern, count: request.body.count)
    }) { server, session in
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let (data, response) = try await session.upload(for: request, from: Data(pattern.bytes(count: Int(count))))
      #expect(pattern.matches(data) && Int64(data.count) == count)
      #expect(response.expectedContentLength == count)
      let announced = try await server.nextRequest()
      #expect(announced.framing == .length(count))
      // Of no announced length.
      request.httpBodyStream = InputStream(data: Data(pattern.bytes(count: Int(count))))
      let (streamed, _) = try await session.data(for: request)
      #expect(Int64(streamed.count) == count)
      let unannounced = try await server.nextRequest()
      #expect(unannounced.value("content-length") == nil)
    }
  }

  @Test func answersWithoutABody() async throws {
    try await overHTTP2({ request in
      request.target == "/204" ? .status(204) : .ok("twelve bytes")
    }) { server, session in
      var request = URLRequest(url: server.url("/head"))
      request.httpMethod = "HEAD"
      let (data, response) = try await session.data(for: request)
      #expect(data.isEmpty && response.expectedContentLength == 12)
      let (nothing, none) = try await session.data(from: server.url("/204"))
      #expect(nothing.isEmpty && (none as? HTTPURLResponse)?.statusCode == 204)
      #expect(server.connectionCount == 1)
    }
  }

  /// A load that is cancelled ends its stream and nothing else.
  @Test func cancellingLeavesTheConnection() async throws {
    let left = Recorder<Void>()
    try await overHTTP2({ request in
      guard request.target == "/endless" else { return .ok("still here") }
      return Reply([.head(200, fields: []), .pattern(BytePattern(), count: 1 << 40)])
    }) { server, session in
      for _ in 0..<3 {
        let (bytes, _) = try await session.bytes(from: server.url("/endless"))
        var iterator = bytes.makeAsyncIterator()
        _ = try await iterator.next()
        bytes.task.cancel()
      }
      for _ in 0..<20 {
        let (data, _) = try await session.data(from: server.url("/after"))
        #expect(text(data) == "still here")
      }
      #expect(server.connectionCount == 1)
      left.record(())
    }
  }

  /// Readers that stand still hold nobody else up, and nothing piles up for them.
  @Test func aReaderThatStopsStopsItsStreamOnly() async throws {
    let large = FileResource(size: 256 << 20)
    try await overHTTP2({ request in
      request.target == "/large" ? large.reply(to: request) : .pattern(BytePattern(), count: 3 << 20)
    }) { server, session in
      var iterators: [URLSession.AsyncBytes.AsyncIterator] = []
      for _ in 0..<24 {
        let (bytes, _) = try await session.bytes(from: server.url("/large"))
        var iterator = bytes.makeAsyncIterator()
        _ = try await iterator.next()
        iterators.append(iterator)
      }
      // More than the window of the whole connection is waiting to be read by them.
      for _ in 0..<3 {
        let (data, _) = try await session.data(from: server.url("/other"))
        #expect(data.count == 3 << 20)
      }
      #expect(server.connectionCount == 1)
      #expect(large.bytesSent < Int64(24 * (8 << 20)))
      withExtendedLifetime(iterators) {}
    }
  }

  @Test func metricsNameTheProtocolAndCountItsBytes() async throws {
    try await WireVersion.$current.withValue(.http2) {
      try await withServer({ _ in .pattern(BytePattern(), count: 100_000) }) { server in
        let delegate = RecordingDelegate()
        let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        var transactions: [URLSessionTaskTransactionMetrics] = []
        for _ in 0..<2 {
          session.dataTask(with: server.url()).resume()
          transactions += try await delegate.metrics.next().transactionMetrics
        }
        #expect(transactions.map(\.networkProtocolName) == ["h2", "h2"])
        #expect(transactions.map(\.isReusedConnection) == [false, true])
        let first = try #require(transactions.first)
        let second = try #require(transactions.last)
        #expect(first.countOfResponseBodyBytesReceived > 100_000 && first.countOfResponseBodyBytesReceived < 101_000)
        // What was said before is said again in fewer bytes.
        #expect(first.countOfRequestHeaderBytesSent > second.countOfRequestHeaderBytesSent)
        #expect(second.countOfRequestHeaderBytesSent > 9 && second.countOfResponseHeaderBytesReceived > 9)
      }
    }
  }

  @Test func flushEndsTheConnectionWhenItIsFree() async throws {
    try await overHTTP2({ .ok($0.target) }) { server, session in
      _ = try await session.data(from: server.url("/1"))
      await session.flush()
      try await server.waitForOpenConnections(0)
      _ = try await session.data(from: server.url("/2"))
      #expect(server.connectionCount == 2)
    }
  }

  @Test func anAnswerBeforeTheEndOfTheUpload() async throws {
    var options = LoopbackServer.Options()
    options.onHead = { _ in .reply(.status(413, body: "too much")) }
    try await overHTTP2(options: options, { _ in .status(500) }) { server, session in
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let (data, response) = try await session.upload(for: request, from: Data(count: 8 << 20))
      #expect((response as? HTTPURLResponse)?.statusCode == 413 && text(data) == "too much")
    }
  }
}
