import Foundation
import HTTPSemantics
import TransferProtocol

extension TransactionDescription {
  /// The transaction as an app may see it: credentials are left out as in a HAR log. The first look at a connection's
  /// network may block.
  package init(_ contents: TransactionRecord.Contents) {
    self.init(URLSessionTaskTransactionMetrics(contents: contents))
  }

  init(_ metrics: URLSessionTaskTransactionMetrics) {
    let request = metrics.request
    self.init(
      url: TransactionDescription.shown(request.url), method: request.httpMethod ?? "GET",
      headers: TransactionDescription.shown(TransactionDescription.harmless(request.headerFields)),
      source: metrics.resourceFetchType.source)
    if let response = metrics.response as? HTTPURLResponse {
      var summary = ResponseSummary(response)
      summary.url = TransactionDescription.shown(response.url)
      summary.headers = TransactionDescription.shown(response.head.fields)
      self.response = summary
    }
    times = Times(metrics)
    connection = Connection(metrics)
    bytes.requestHeader = metrics.countOfRequestHeaderBytesSent
    bytes.requestBody = metrics.countOfRequestBodyBytesSent
    bytes.requestBodyBeforeEncoding = metrics.countOfRequestBodyBytesBeforeEncoding
    bytes.responseHeader = metrics.countOfResponseHeaderBytesReceived
    bytes.responseBody = metrics.countOfResponseBodyBytesReceived
    bytes.responseBodyAfterDecoding = metrics.countOfResponseBodyBytesAfterDecoding
  }

  /// An app may put a secret into a field of any name, and the queue has its requests sealed; so values are kept of fields
  /// alone whose meaning is known.
  private static let harmlessRequestFields: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "content-encoding",
    "content-length", "content-type", "date", "dnt", "expect", "host", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "pragma", "priority", "range", "te", "transfer-encoding", "upload-complete",
    "upload-draft-interop-version", "upload-incomplete", "upload-length", "upload-offset", "upgrade-insecure-requests",
    "user-agent",
  ]

  private static func harmless(_ fields: HTTPFields) -> HTTPFields {
    HTTPFields(
      fields.fields.map { field in
        guard !harmlessRequestFields.contains(field.name.lowercased()) else { return field }
        var hidden = field
        hidden.value = ShownFields.notShown
        return hidden
      })
  }

  /// A URL without credentials; of a long one the beginning, which ends before a byte that is percent-encoded.
  static func shown(_ url: URL?) -> String {
    let text = HARLog.url(url, .redacted)
    guard text.utf8.count > maximumFieldLength else { return text }
    var beginning = text.unicodeScalars.filter(\.isASCII).prefix(maximumFieldLength)
    if let escape = beginning.suffix(2).lastIndex(of: "%") { beginning = beginning[..<escape] }
    return String(String.UnicodeScalarView(beginning))
  }

  /// The first fields, without credentials.
  private static func shown(_ fields: HTTPFields) -> [HeaderField] {
    var length = 0
    return HARLog.fields(fields, .redacted).prefix { field in
      length += field.name.utf8.count + field.value.utf8.count
      return length <= maximumFieldLength
    }.map { HeaderField($0.name, $0.value) }
  }
}

extension TransactionDescription.Times {
  fileprivate init(_ metrics: URLSessionTaskTransactionMetrics) {
    self.init()
    fetchStart = metrics.fetchStartDate
    domainLookupStart = metrics.domainLookupStartDate
    domainLookupEnd = metrics.domainLookupEndDate
    connectStart = metrics.connectStartDate
    secureConnectionStart = metrics.secureConnectionStartDate
    secureConnectionEnd = metrics.secureConnectionEndDate
    connectEnd = metrics.connectEndDate
    requestStart = metrics.requestStartDate
    requestEnd = metrics.requestEndDate
    responseStart = metrics.responseStartDate
    responseEnd = metrics.responseEndDate
  }
}

extension TransactionDescription.Connection {
  fileprivate init(_ metrics: URLSessionTaskTransactionMetrics) {
    self.init()
    protocolName = metrics.networkProtocolName
    let resolution = metrics.domainResolutionProtocol
    domainResolution = resolution == .unknown ? nil : resolution.rawValue
    isProxy = metrics.isProxyConnection
    isReused = metrics.isReusedConnection
    (localAddress, localPort) = (metrics.localAddress, metrics.localPort)
    (remoteAddress, remotePort) = (metrics.remoteAddress, metrics.remotePort)
    tlsVersion = metrics.negotiatedTLSProtocolVersion?.rawValue
    tlsCipherSuite = metrics.negotiatedTLSCipherSuite?.rawValue
    (isCellular, isExpensive, isConstrained) = (metrics.isCellular, metrics.isExpensive, metrics.isConstrained)
    isMultipath = metrics.isMultipath
  }
}

extension URLSessionTaskMetrics.ResourceFetchType {
  fileprivate var source: TransactionDescription.Source {
    switch self {
    case .networkLoad: .networkLoad
    case .localCache: .localCache
    case .unknown, .serverPush: .unknown
    }
  }

  init(_ source: TransactionDescription.Source) {
    self =
      switch source {
      case .unknown: .unknown
      case .networkLoad: .networkLoad
      case .localCache: .localCache
      }
  }
}
