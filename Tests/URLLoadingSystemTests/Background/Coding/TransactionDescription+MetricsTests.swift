import Foundation
import HTTPSemantics
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// A transaction on its way from the transfer service to the app.
@Suite struct TransactionDescriptionMetricsTests {
  private func record() throws -> TransactionRecord {
    try URLSessionTaskMetricsTests().transaction(status: 200)
  }

  @Test func everyFactArrives() throws {
    let original = URLSessionTaskTransactionMetrics(try record())
    let encoded = try MessageFraming.encode(TransactionDescription(try record().contents))
    let told = ToldTransactionMetrics(try MessageFraming.decode(TransactionDescription.self, from: encoded))
    #expect(told.request.url == original.request.url && told.request.httpMethod == "GET")
    #expect((told.response as? HTTPURLResponse)?.statusCode == 200)
    #expect(told.networkProtocolName == original.networkProtocolName && told.domainResolutionProtocol == .tls)
    #expect(told.localPort == original.localPort && told.remoteAddress == original.remoteAddress)
    #expect(told.negotiatedTLSCipherSuite == original.negotiatedTLSCipherSuite)
    #expect(told.countOfRequestHeaderBytesSent == 11 && told.countOfRequestBodyBytesSent == 12)
    #expect(told.countOfResponseHeaderBytesReceived == 13 && told.countOfResponseBodyBytesReceived == 14)
    #expect(told.countOfRequestBodyBytesBeforeEncoding == 15 && told.countOfResponseBodyBytesAfterDecoding == 16)
    #expect(
      told.isReusedConnection == original.isReusedConnection && told.isProxyConnection == original.isProxyConnection)
    #expect(told.resourceFetchType == .networkLoad)
    let start = try #require(told.requestStartDate)
    let end = try #require(told.responseEndDate)
    #expect(abs(end.timeIntervalSince(start) - 0.003) < 0.0005)
    let entry = HARLog.Entry(told)
    #expect(entry.response.status == 200 && entry.timings.ssl >= 0)
  }

  /// A service may be newer than its app, or older.
  @Test(arguments: [nil, 5, -1, .max] as [Int?]) func aResolutionThatIsNotKnownIsUnknown(_ number: Int?) {
    var transaction = TransactionDescription(url: "", method: "GET", headers: [], source: .networkLoad)
    transaction.connection.domainResolution = number
    #expect(ToldTransactionMetrics(transaction).domainResolutionProtocol == .unknown)
  }

  @Test func credentialsStayWithTheService() throws {
    let url = try #require(URL(string: "https://me:secret@example.com/"))
    var request = URLRequest(url: url)
    for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
      request.setValue("secret", forHTTPHeaderField: name)
    }
    let record = TransactionRecord(request: request, fetchType: .networkLoad)
    record.response = HTTPURLResponse(
      url: url, head: HTTPResponseHead(status: 200, fields: HTTPFields([HeaderField("Set-Cookie", "a=secret")])))
    let description = TransactionDescription(record.contents)
    #expect(!String(decoding: try MessageFraming.encode(description), as: UTF8.self).contains("secret"))
    #expect(description.headers.count == 3 && description.url.hasPrefix("https://example.com"))
  }

  @Test func longHeadsAreCut() {
    var request = URLRequest(url: URL(fileURLWithPath: "/"))
    for number in 0..<100 {
      request.setValue(String(repeating: "x", count: 100), forHTTPHeaderField: "Field-\(number)")
    }
    let description = TransactionDescription(TransactionRecord(request: request, fetchType: .unknown).contents)
    let length = description.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    #expect(length <= TransactionDescription.maximumFieldLength && description.headers.count > 30)
  }

  /// A server decides how long the URLs are that it leads to, and an event has to fit into a message.
  @Test(arguments: [0, 1, 2]) func longURLsAreCut(letters: Int) throws {
    let path = String(repeating: "a", count: letters) + String(repeating: "%C3%A4", count: 100_000)
    let url = try #require(URL(string: "https://example.com/" + path))
    let record = TransactionRecord(request: URLRequest(url: url), fetchType: .networkLoad)
    record.response = HTTPURLResponse(url: url, head: HTTPResponseHead(status: 302))
    let description = TransactionDescription(record.contents)
    for text in [description.url, try #require(description.response).url] {
      #expect(text.utf8.count <= TransactionDescription.maximumFieldLength && text.utf8.count > 4_000)
      #expect(url.absoluteString.hasPrefix(text) && URL(string: text)?.absoluteString == text)
    }
  }

  /// A clock that was set back must not stop the program.
  @Test func transactionsOfTheFutureMakeAnInterval() {
    var transaction = TransactionDescription(url: "", method: "GET", headers: [], source: .unknown)
    transaction.times.fetchStart = Date(timeIntervalSince1970: 9e9)
    let now = Date(timeIntervalSince1970: 5)
    let metrics = URLSessionTaskMetrics(told: [transaction], creation: Date(timeIntervalSince1970: 7), now: now)
    #expect(metrics.taskInterval.duration == 0)
  }
}
