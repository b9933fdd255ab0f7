import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices
import Testing
import URLLoadingSystem

@Suite struct URLSessionTaskMetricsTests {
  let url = URL(string: "https://example.com/")!
  let start = NIODeadline.now()

  func at(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

  func transaction(
    status: Int, isReused: Bool = false, resolution: DomainResolution = .tls
  ) throws -> TransactionRecord {
    var connection = ConnectionRecord()
    connection.domainLookupStart = at(1)
    connection.domainLookupEnd = at(2)
    connection.domainResolution = resolution
    connection.connectStart = at(3)
    connection.secureConnectionStart = at(4)
    connection.secureConnectionEnd = at(5)
    connection.connectEnd = at(6)
    connection.localAddress = try SocketAddress(ipAddress: "127.0.0.1", port: 40_000)
    connection.remoteAddress = try SocketAddress(ipAddress: "::1", port: 443)
    connection.tlsVersion = 0x0304
    connection.tlsCipherSuite = 0x1301
    var exchange = ExchangeRecord(connection: connection, isReusedConnection: isReused)
    exchange.requestStart = at(7)
    exchange.requestEnd = at(8)
    exchange.responseStart = at(9)
    exchange.responseEnd = at(10)
    exchange.requestHeaderBytes = 11
    exchange.requestBodyBytes = 12
    exchange.responseHeaderBytes = 13
    exchange.responseBodyBytes = 14
    let record = TransactionRecord(request: URLRequest(url: url), fetchType: .networkLoad, fetchStart: start)
    record.response = HTTPURLResponse(url: url, head: HTTPResponseHead(status: status))
    record.exchange = exchange
    record.requestBodyBytesBeforeEncoding = 15
    record.responseBodyBytesAfterDecoding = 16
    return record
  }

  @Test func aNewConnectionHasEveryPhaseInOrder() throws {
    let metrics = URLSessionTaskTransactionMetrics(try transaction(status: 200))
    let dates = [
      metrics.domainLookupStartDate, metrics.domainLookupEndDate, metrics.connectStartDate,
      metrics.secureConnectionStartDate, metrics.secureConnectionEndDate, metrics.connectEndDate,
      metrics.requestStartDate, metrics.requestEndDate, metrics.responseStartDate, metrics.responseEndDate,
    ].compactMap { $0 }
    #expect(dates.count == 10)
    #expect(zip(dates, dates.dropFirst()).allSatisfy { abs($1.timeIntervalSince($0) - 0.001) < 0.0001 })
    #expect(metrics.fetchStartDate != nil)
    #expect(metrics.request.url == url)
    #expect((metrics.response as? HTTPURLResponse)?.statusCode == 200)
    #expect(metrics.networkProtocolName == "http/1.1")
    #expect(metrics.resourceFetchType == .networkLoad)
    #expect(metrics.domainResolutionProtocol == .tls)
    #expect(metrics.localAddress == "127.0.0.1" && metrics.localPort == 40_000)
    #expect(metrics.remoteAddress == "::1" && metrics.remotePort == 443)
    #expect(metrics.negotiatedTLSProtocolVersion == .TLSv13)
    #expect(metrics.negotiatedTLSCipherSuite == .AES_128_GCM_SHA256)
    #expect(!metrics.isReusedConnection && !metrics.isProxyConnection && !metrics.isMultipath)
    #expect(!metrics.isCellular && !metrics.isExpensive && !metrics.isConstrained)
    #expect(metrics.countOfRequestHeaderBytesSent == 11)
    #expect(metrics.countOfRequestBodyBytesSent == 12)
    #expect(metrics.countOfResponseHeaderBytesReceived == 13)
    #expect(metrics.countOfResponseBodyBytesReceived == 14)
    #expect(metrics.countOfRequestBodyBytesBeforeEncoding == 15)
    #expect(metrics.countOfResponseBodyBytesAfterDecoding == 16)
  }

  @Test func aReusedConnectionHasNoPhasesOfConnecting() throws {
    let metrics = URLSessionTaskTransactionMetrics(try transaction(status: 200, isReused: true))
    #expect(metrics.isReusedConnection)
    #expect(metrics.domainLookupStartDate == nil && metrics.domainLookupEndDate == nil)
    #expect(metrics.connectStartDate == nil && metrics.connectEndDate == nil)
    #expect(metrics.secureConnectionStartDate == nil && metrics.secureConnectionEndDate == nil)
    #expect(metrics.requestStartDate != nil)
    #expect(metrics.remotePort == 443 && metrics.domainResolutionProtocol == .unknown)
  }

  @Test(
    arguments: [
      (.unknown, .unknown), (.udp, .udp), (.tcp, .tcp), (.tls, .tls),
    ] as [(DomainResolution, URLSessionTaskMetrics.DomainResolutionProtocol)])
  func theResolutionOfTheNameIsTold(
    _ resolution: DomainResolution, _ expected: URLSessionTaskMetrics.DomainResolutionProtocol
  ) throws {
    let record = try transaction(status: 200, resolution: resolution)
    #expect(URLSessionTaskTransactionMetrics(record).domainResolutionProtocol == expected)
  }

  @Test func aLocalLoadHasNoConnection() {
    let record = TransactionRecord(request: URLRequest(url: url), fetchType: .localCache)
    record.fetchEnd = at(1)
    let metrics = URLSessionTaskTransactionMetrics(record)
    #expect(metrics.resourceFetchType == .localCache)
    #expect(metrics.networkProtocolName == nil && metrics.remoteAddress == nil)
    #expect(metrics.negotiatedTLSProtocolVersion == nil && metrics.negotiatedTLSCipherSuite == nil)
    #expect(metrics.domainResolutionProtocol == .unknown)
    #expect(metrics.responseEndDate != nil && metrics.requestStartDate == nil)
    #expect(metrics.countOfResponseBodyBytesReceived == 0)
  }

  @Test(arguments: [([200], 0), ([302, 200], 1), ([301, 307, 200], 2), ([302], 0), ([304, 200], 0)])
  func redirectsThatWereFollowedAreCounted(statuses: [Int], redirects: Int) throws {
    let interval = DateInterval(start: Date(timeIntervalSince1970: 1), duration: 2)
    let metrics = URLSessionTaskMetrics(
      transactions: try statuses.map { try transaction(status: $0) }, taskInterval: interval)
    #expect(metrics.redirectCount == redirects)
    #expect(metrics.transactionMetrics.count == statuses.count)
    #expect(metrics.taskInterval == interval)
  }

  /// Each task reads the clocks anew: one that was set since the last task is right in this one.
  @Test func datesCountFromTheTasksOwnAnchor() {
    let start = NIODeadline.uptimeNanoseconds(10_000_000_000)
    for date in [Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 1e6)] {
      let anchor = DateAnchor(time: start, date: date)
      #expect(anchor.date(of: start) == date)
      #expect(anchor.date(of: start + .milliseconds(1500)) == date.addingTimeInterval(1.5))
      #expect(anchor.date(of: start - .seconds(2)) == date.addingTimeInterval(-2))
      let record = TransactionRecord(
        request: URLRequest(url: url), fetchType: .localCache, fetchStart: start + .seconds(1), anchor: anchor)
      record.fetchEnd = start + .seconds(3)
      let metrics = URLSessionTaskTransactionMetrics(record)
      #expect(metrics.fetchStartDate == date.addingTimeInterval(1))
      #expect(metrics.responseEndDate == date.addingTimeInterval(3))
    }
  }
}
