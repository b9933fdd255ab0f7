import EveryVersion
import Foundation
import LoopbackServer
import NIOCore
import Testing
import URLLoadingSystem

/// Metrics of real loads: what took place has its dates, in order, and its bytes; what did not is nil.
@Suite struct MetricsTests {
  typealias Transaction = URLSessionTaskTransactionMetrics

  /// Loads with a delegate; the metrics, which have come before the end.
  static func metrics(
    _ request: URLRequest, in session: URLSession, upload: InputStream? = nil
  ) async throws -> URLSessionTaskMetrics {
    let delegate = RecordingDelegate()
    let before = Date()
    if let upload {
      let stream = SendableStream(upload)
      delegate.stream = { stream.stream }
    }
    let task = upload == nil ? session.dataTask(with: request) : session.uploadTask(withStreamedRequest: request)
    task.delegate = delegate
    task.resume()
    try await delegate.done.wait(within: patience)
    #expect(delegate.events.all.suffix(2).first == "metrics", "metrics come right before the end")
    let metrics = try #require(delegate.metrics.all.first)
    #expect(delegate.metrics.count == 1)
    // Wall clock here, monotonic clock there.
    #expect((before - 1...Date() + 1).contains(metrics.taskInterval.start))
    for transaction in metrics.transactionMetrics { checkOrder(transaction, within: metrics.taskInterval) }
    return metrics
  }

  struct SendableStream: @unchecked Sendable {
    let stream: InputStream
    init(_ stream: InputStream) { self.stream = stream }
  }

  /// The dates that are there are in the order of the phases, and within the task's life.
  static func checkOrder(_ transaction: Transaction, within interval: DateInterval) {
    let request = [
      transaction.fetchStartDate, transaction.domainLookupStartDate, transaction.domainLookupEndDate,
      transaction.connectStartDate, transaction.secureConnectionStartDate, transaction.secureConnectionEndDate,
      transaction.connectEndDate, transaction.requestStartDate, transaction.requestEndDate,
    ].compactMap { $0 }
    // A server may answer before it has the whole request.
    let response = [transaction.requestStartDate, transaction.responseStartDate, transaction.responseEndDate]
      .compactMap { $0 }
    for dates in [request, response] {
      #expect(dates == dates.sorted())
      #expect(dates.allSatisfy { interval.start <= $0 && $0 <= interval.end })
    }
  }

  private func session(trusting file: String? = nil) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    if let file { configuration.trustRoots = .file(file) }
    return URLSession(configuration: configuration)
  }

  // MARK: Connections

  @Test(arguments: [false, true]) func aFirstAndASecondRequest(_ isSecure: Bool) async throws {
    let tls = isSecure ? try ServerTLS.localhost() : nil
    let server = try await LoopbackServer.start(tls: tls) { .ok($0.target) }
    let session = session(trusting: try TestCertificates.shared().authorityFile)
    let request = URLRequest(url: server.url("/", host: "localhost"))
    let first = try #require(try await MetricsTests.metrics(request, in: session).transactionMetrics.first)
    let second = try #require(try await MetricsTests.metrics(request, in: session).transactionMetrics.first)
    for (transaction, isReused) in [(first, false), (second, true)] {
      let connecting = [
        transaction.domainLookupStartDate, transaction.domainLookupEndDate, transaction.connectStartDate,
        transaction.connectEndDate,
      ]
      #expect(connecting.allSatisfy { ($0 == nil) == isReused })
      let securing = [transaction.secureConnectionStartDate, transaction.secureConnectionEndDate]
      #expect(securing.allSatisfy { ($0 == nil) == (isReused || !isSecure) })
      #expect(transaction.requestStartDate != nil && transaction.requestEndDate != nil)
      #expect(transaction.responseStartDate != nil && transaction.responseEndDate != nil)
      #expect(transaction.isReusedConnection == isReused)
      #expect(transaction.networkProtocolName == "http/1.1")
      #expect(transaction.resourceFetchType == .networkLoad)
      #expect(transaction.remoteAddress == "127.0.0.1" && transaction.remotePort == server.port)
      #expect(transaction.localAddress == "127.0.0.1")
      #expect(transaction.localPort == first.localPort && transaction.localPort != nil)
      #expect(transaction.negotiatedTLSProtocolVersion == (isSecure ? .TLSv13 : nil))
      #expect((transaction.negotiatedTLSCipherSuite != nil) == isSecure)
      #expect(transaction.request.url == request.url)
      #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
      #expect(!transaction.isProxyConnection && !transaction.isMultipath)
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test(arguments: [(tls_protocol_version_t.TLSv12, 0xc000), (.TLSv13, 0x1300)] as [(tls_protocol_version_t, UInt16)])
  func theCipherSuiteIsTheOneSpoken(_ version: tls_protocol_version_t, _ range: UInt16) async throws {
    var tls = try ServerTLS.localhost()
    if version == .TLSv12 { tls.maximumVersion = .tlsv12 }
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("") }
    let session = session(trusting: try TestCertificates.shared().authorityFile)
    let metrics = try await MetricsTests.metrics(URLRequest(url: server.url()), in: session)
    let transaction = try #require(metrics.transactionMetrics.first)
    #expect(transaction.negotiatedTLSProtocolVersion == version)
    #expect(transaction.negotiatedTLSCipherSuite.map { $0.rawValue & 0xff00 } == range)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  // MARK: Bytes

  /// A server that counts what it is sent, byte by byte, and answers with bytes that the test knows.
  @Test func bytesAreThoseOnTheWire() async throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\n"
    // gzip of "hello", in two chunks with an extension and a trailer.
    let gzip: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
    ]
    let body =
      Array("a;x=y\r\n".utf8) + gzip[..<10] + Array("\r\nf\r\n".utf8) + gzip[10...]
      + Array("\r\n0\r\nX-Trailer: 1\r\n\r\n".utf8)
    let sent = Recorder<Int>()
    let server = try await LoopbackServer.startRaw { connection in
      var seen: [UInt8] = []
      while !String(decoding: seen, as: UTF8.self).hasSuffix("\r\n0\r\n\r\n") {
        guard let bytes = try await connection.read() else { return }
        seen += Array(buffer: bytes)
      }
      let text = String(decoding: seen, as: UTF8.self)
      let headEnd = try #require(text.range(of: "\r\n\r\n")).upperBound
      sent.record(text.utf8.distance(from: text.startIndex, to: headEnd))
      sent.record(text.utf8.distance(from: headEnd, to: text.endIndex))
      try await connection.write(interim + head)
      try await connection.write(ByteBuffer(bytes: body))
      try await connection.waitUntilClosed()
    }
    let session = session()
    var request = URLRequest(url: server.url())
    request.httpMethod = "POST"
    let metrics = try await MetricsTests.metrics(
      request, in: session, upload: InputStream(data: Data("four and ten".utf8)))
    let transaction = try #require(metrics.transactionMetrics.first)
    #expect(transaction.countOfRequestHeaderBytesSent == Int64(sent.all[0]))
    #expect(transaction.countOfRequestBodyBytesSent == Int64(sent.all[1]))
    #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 12)
    #expect(transaction.countOfResponseHeaderBytesReceived == Int64((interim + head).utf8.count))
    #expect(transaction.countOfResponseBodyBytesReceived == Int64(body.count))
    #expect(transaction.countOfResponseBodyBytesAfterDecoding == 5)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aBodyOfKnownLengthHasNoFraming() async throws {
    try await withServer({ _ in .ok("1234567") }) { server in
      let session = session()
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      request.httpBody = Data("four".utf8)
      let metrics = try await MetricsTests.metrics(request, in: session)
      let transaction = try #require(metrics.transactionMetrics.first)
      #expect(transaction.countOfRequestBodyBytesSent == 4 && transaction.countOfRequestBodyBytesBeforeEncoding == 4)
      #expect(transaction.countOfResponseBodyBytesReceived == 7)
      #expect(transaction.countOfResponseBodyBytesAfterDecoding == 7)
    }
  }

  // MARK: One transaction a hop

  @Test func eachRedirectIsATransaction() async throws {
    try await withServer({ $0.path == "/end" ? .ok("end") : .redirect(to: $0.path == "/1" ? "/2" : "/end") }) {
      server in
      let session = session()
      defer { session.invalidateAndCancel() }
      let metrics = try await MetricsTests.metrics(URLRequest(url: server.url("/1")), in: session)
      #expect(metrics.redirectCount == 2)
      #expect(metrics.transactionMetrics.map(\.request.url?.path) == ["/1", "/2", "/end"])
      #expect(metrics.transactionMetrics.map(\.isReusedConnection) == [false, true, true])
      let ends = metrics.transactionMetrics.compactMap(\.responseEndDate)
      let starts = metrics.transactionMetrics.compactMap(\.fetchStartDate)
      #expect(ends.count == 3 && zip(ends, starts.dropFirst()).allSatisfy { $0 <= $1 })
    }
  }

  /// The app asked for one request and gets one; what was repeated for it unasked is not told.
  @Test(.overHTTP1To3) func theAttemptOnAStaleConnectionIsNoTransaction() async throws {
    try await withServer({ request in
      request.connection == 1 && request.target == "/second" ? Reply([.reset]) : .ok(request.target)
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      _ = try await MetricsTests.metrics(URLRequest(url: server.url("/first")), in: session)
      let metrics = try await MetricsTests.metrics(URLRequest(url: server.url("/second")), in: session)
      #expect(metrics.redirectCount == 0)
      let transactions = metrics.transactionMetrics
      #expect(transactions.map(\.isReusedConnection) == [false])
      #expect(transactions.map { ($0.response as? HTTPURLResponse)?.statusCode } == [200])
      #expect(server.connectionCount == 2)
    }
  }

  @Test func theRequestWithoutItsExpectationIsATransaction() async throws {
    try await withServer({ $0.value("Expect") == nil ? .ok("") : .status(417) }) { server in
      let session = session()
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      request.httpBody = Data("body".utf8)
      request.setValue("100-continue", forHTTPHeaderField: "Expect")
      let metrics = try await MetricsTests.metrics(request, in: session)
      let statuses = metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
      #expect(statuses == [417, 200] && metrics.redirectCount == 0)
    }
  }

  // MARK: Failures

  private func failed(_ url: URL, trusting file: String? = nil, limit: TimeInterval = 60) async throws -> Transaction {
    let session = session(trusting: file)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: url)
    request.timeoutInterval = limit
    let metrics = try await MetricsTests.metrics(request, in: session)
    #expect(metrics.transactionMetrics.count == 1)
    let transaction = try #require(metrics.transactionMetrics.first)
    #expect(transaction.fetchStartDate != nil && transaction.response == nil && transaction.responseEndDate == nil)
    return transaction
  }

  private func expectNotConnected(_ transaction: Transaction) {
    #expect(transaction.connectEndDate == nil && transaction.requestStartDate == nil)
    #expect(transaction.secureConnectionEndDate == nil && transaction.responseStartDate == nil)
    #expect(transaction.networkProtocolName == nil && !transaction.isReusedConnection)
    #expect(transaction.countOfRequestHeaderBytesSent == 0)
  }

  @Test func aNameThatDoesNotExist() async throws {
    let transaction = try await failed(try #require(URL(string: "http://no-such-host.invalid/")))
    expectNotConnected(transaction)
    #expect(transaction.domainLookupStartDate != nil && transaction.domainLookupEndDate == nil)
    #expect(transaction.connectStartDate == nil && transaction.remoteAddress == nil)
  }

  @Test(arguments: ["127.0.0.1", "localhost"]) func nobodyListening(_ host: String) async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let url = server.url("/", host: host)
    await server.shutdown()
    let transaction = try await failed(url)
    expectNotConnected(transaction)
    #expect((transaction.domainLookupEndDate != nil) == (host == "localhost"))
    #expect(transaction.connectStartDate != nil && transaction.remoteAddress == nil)
  }

  @Test func aHandshakeThatFails() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let transaction = try await failed(server.url())
    expectNotConnected(transaction)
    #expect(transaction.connectStartDate != nil && transaction.secureConnectionStartDate != nil)
    #expect(transaction.remotePort == server.port && transaction.negotiatedTLSProtocolVersion == nil)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aHandshakeThatIsNotAnsweredInTime() async throws {
    let server = try await LoopbackServer.startRaw { try await $0.waitUntilClosed() }
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let transaction = try await failed(url, limit: 10)
    expectNotConnected(transaction)
    #expect(transaction.connectStartDate != nil && transaction.secureConnectionStartDate != nil)
    #expect(transaction.remotePort == server.port)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func anAnswerThatDoesNotComeInTime() async throws {
    try await withServer({ _ in .never }) { server in
      let transaction = try await failed(server.url(), limit: 10)
      #expect(transaction.connectEndDate != nil && transaction.requestEndDate != nil)
      #expect(transaction.responseStartDate == nil && transaction.countOfRequestHeaderBytesSent > 0)
    }
  }

  @Test func aBodyThatIsCutShort() async throws {
    try await withServer({ _ in .truncated(declared: 100, sent: 40) }) { server in
      let session = session()
      defer { session.invalidateAndCancel() }
      let metrics = try await MetricsTests.metrics(URLRequest(url: server.url()), in: session)
      let transaction = try #require(metrics.transactionMetrics.first)
      #expect(transaction.responseStartDate != nil && transaction.responseEndDate == nil)
      #expect(transaction.countOfResponseBodyBytesReceived == 40)
    }
  }

  // MARK: Local loads

  @Test func aFileThatIsMissingIsATransactionToo() async throws {
    let session = session()
    defer { session.invalidateAndCancel() }
    let missing = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    for url in [missing, try textURL("text")] {
      let metrics = try await MetricsTests.metrics(URLRequest(url: url), in: session)
      let transaction = try #require(metrics.transactionMetrics.first)
      #expect(transaction.resourceFetchType == .localCache)
      #expect((transaction.responseEndDate == nil) == url.isFileURL)
      #expect(transaction.countOfResponseBodyBytesAfterDecoding == (url.isFileURL ? 0 : 4))
    }
  }
}
