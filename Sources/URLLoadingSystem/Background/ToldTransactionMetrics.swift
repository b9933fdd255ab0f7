import Foundation
import TransferProtocol

/// A transaction that took place in the transfer service, as that told of it.
final class ToldTransactionMetrics: URLSessionTaskTransactionMetrics, @unchecked Sendable {
  // Sendable by hand, as its superclass is: set before another thread has it.
  private var told = TransactionDescription(url: "", method: "GET", headers: [], source: .unknown)

  convenience init(_ told: TransactionDescription) {
    var request =
      RequestDescription(url: told.url, method: told.method, headers: told.headers).urlRequest ?? URLRequest()
    request.httpMethod = told.method
    let record = TransactionRecord(request: request, fetchType: .unknown)
    record.response = told.response?.urlResponse
    self.init(contents: record.contents)
    self.told = told
  }

  override var fetchStartDate: Date? { told.times.fetchStart }
  override var domainLookupStartDate: Date? { told.times.domainLookupStart }
  override var domainLookupEndDate: Date? { told.times.domainLookupEnd }
  override var connectStartDate: Date? { told.times.connectStart }
  override var secureConnectionStartDate: Date? { told.times.secureConnectionStart }
  override var secureConnectionEndDate: Date? { told.times.secureConnectionEnd }
  override var connectEndDate: Date? { told.times.connectEnd }
  override var requestStartDate: Date? { told.times.requestStart }
  override var requestEndDate: Date? { told.times.requestEnd }
  override var responseStartDate: Date? { told.times.responseStart }
  override var responseEndDate: Date? { told.times.responseEnd }

  override var networkProtocolName: String? { told.connection.protocolName }
  override var isProxyConnection: Bool { told.connection.isProxy }
  override var isReusedConnection: Bool { told.connection.isReused }
  override var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType { .init(told.source) }
  override var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol {
    told.connection.domainResolution.flatMap { .init(rawValue: $0) } ?? .unknown
  }
  override var localAddress: String? { told.connection.localAddress }
  override var localPort: Int? { told.connection.localPort }
  override var remoteAddress: String? { told.connection.remoteAddress }
  override var remotePort: Int? { told.connection.remotePort }
  override var negotiatedTLSProtocolVersion: tls_protocol_version_t? {
    told.connection.tlsVersion.flatMap { tls_protocol_version_t(rawValue: $0) }
  }
  override var negotiatedTLSCipherSuite: tls_ciphersuite_t? {
    told.connection.tlsCipherSuite.flatMap { tls_ciphersuite_t(rawValue: $0) }
  }
  override var isCellular: Bool { told.connection.isCellular }
  override var isExpensive: Bool { told.connection.isExpensive }
  override var isConstrained: Bool { told.connection.isConstrained }
  override var isMultipath: Bool { told.connection.isMultipath }

  override var countOfRequestHeaderBytesSent: Int64 { told.bytes.requestHeader }
  override var countOfRequestBodyBytesSent: Int64 { told.bytes.requestBody }
  override var countOfRequestBodyBytesBeforeEncoding: Int64 { told.bytes.requestBodyBeforeEncoding }
  override var countOfResponseHeaderBytesReceived: Int64 { told.bytes.responseHeader }
  override var countOfResponseBodyBytesReceived: Int64 { told.bytes.responseBody }
  override var countOfResponseBodyBytesAfterDecoding: Int64 { told.bytes.responseBodyAfterDecoding }
}

extension URLSessionTaskMetrics {
  /// The metrics of a task whose transactions took place in the transfer service.
  ///
  /// - Parameter creation: When the task was made in this process, or found again. The first transaction may be earlier.
  convenience init(told: [TransactionDescription], creation: Date, now: Date = Date()) {
    let told = told.suffix(TransactionDescription.maximumCount)
    let start = told.compactMap(\.times.fetchStart).reduce(creation) { min($0, $1) }
    let redirects = told.dropLast().count { [301, 302, 303, 307, 308].contains($0.response?.status ?? 0) }
    self.init(
      transactionMetrics: told.map { ToldTransactionMetrics($0) },
      // Another process's clock may have been set since.
      taskInterval: DateInterval(start: start, end: max(start, now)), redirectCount: redirects)
  }
}
