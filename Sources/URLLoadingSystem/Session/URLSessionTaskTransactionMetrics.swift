import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices

/// A record of one request and its response on the network, with its times.
///
/// Times of phases that did not take place or did not finish are nil: all of name resolution, connecting and TLS on a
/// reused connection; from the phase in which a load failed, its end and everything after it. Dates are in the order of
/// what happened: they come from a clock that is never set.
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: one constant of a Sendable type.
  private let record: TransactionRecord.Contents

  /// `record` as it is now; later changes of it are not seen.
  package init(_ record: TransactionRecord) { self.record = record.contents }

  /// A transaction whose record was taken before.
  package init(contents: TransactionRecord.Contents) { record = contents }

  /// Metrics of nothing: for subclasses that stand in for metrics in an app's tests.
  @available(*, deprecated, message: "Metrics come from tasks")
  public override init() {
    record = TransactionRecord(request: URLRequest(), fetchType: .unknown).contents
  }

  /// As `init()`.
  @available(*, deprecated, message: "Metrics come from tasks")
  open class func new() -> URLSessionTaskTransactionMetrics { URLSessionTaskTransactionMetrics() }

  // MARK: Request and response

  /// The request of the transaction.
  open var request: URLRequest { record.request }

  /// The response; nil when none arrived.
  open var response: URLResponse? { record.response }

  // MARK: Dates

  /// When fetching began, from the network or a local store.
  open var fetchStartDate: Date? { record.anchor.date(of: record.fetchStart) }

  /// When name resolution began.
  open var domainLookupStartDate: Date? { date(ofConnecting: fresh?.domainLookupStart) }

  /// When name resolution ended.
  open var domainLookupEndDate: Date? { date(ofConnecting: fresh?.domainLookupEnd) }

  /// When connecting began.
  open var connectStartDate: Date? { date(ofConnecting: fresh?.connectStart) }

  /// When the TLS handshake began.
  open var secureConnectionStartDate: Date? { date(ofConnecting: fresh?.secureConnectionStart) }

  /// When the TLS handshake ended.
  open var secureConnectionEndDate: Date? { date(ofConnecting: fresh?.secureConnectionEnd) }

  /// When the connection was ready, TLS included.
  open var connectEndDate: Date? { date(ofConnecting: fresh?.connectEnd) }

  /// When the first byte of the request was sent.
  open var requestStartDate: Date? { date(record.exchange?.requestStart) }

  /// When the last byte of the request was sent.
  open var requestEndDate: Date? { date(record.exchange?.requestEnd) }

  /// When the first byte of the response arrived, that of an interim response (1xx) included. A server may answer
  /// before the request has ended.
  open var responseStartDate: Date? { date(record.exchange?.responseStart) }

  /// When the last byte of the response arrived.
  open var responseEndDate: Date? { date(record.exchange.map(\.responseEnd) ?? record.fetchEnd) }

  // MARK: Connection

  /// The protocol by its ALPN name: `http/1.1`, `h2`. nil without a connection.
  open var networkProtocolName: String? { record.exchange?.connection.protocolName }

  /// Whether the connection led to a proxy. The addresses are then the proxy's; the protocol is the one spoken with the
  /// server through a tunnel, and with the proxy where there is none.
  open var isProxyConnection: Bool { connection?.proxyName != nil }

  /// The proxy that the connection led to, as a URL without a credential; nil for none.
  package var proxyName: String? { connection?.proxyName }

  /// Whether the connection had served a request before, or was there before this one.
  open var isReusedConnection: Bool {
    guard let exchange = record.exchange else { return false }
    return exchange.isReusedConnection || exchange.connection.connectEnd.map { $0 < record.fetchStart } ?? false
  }

  /// The origin of the response: the network or a store.
  open var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType {
    switch record.fetchType {
    case .unknown: .unknown
    case .networkLoad: .networkLoad
    case .localCache: .localCache
    }
  }

  /// How the addresses of the server, or of the proxy that the connection leads to, were asked for: over TLS, UDP or TCP, as
  /// systemd-resolved says, or the machine's settings where the C library asks name servers itself. An answer that was kept
  /// counts by the way in which it came. `.unknown` where no name was resolved for this transaction, as on a connection that
  /// is used again; where the name is in `/etc/hosts` or may be from elsewhere than the DNS; where a name server runs on this
  /// machine that is not systemd-resolved; and where requests require DNSSEC.
  open var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol {
    switch fresh?.domainResolution {
    case nil, .unknown?: .unknown
    case .udp?: .udp
    case .tcp?: .tcp
    case .tls?: .tls
    }
  }

  /// The connection's address on this side; nil without a connection.
  open var localAddress: String? { connection?.localAddress?.ipAddress }

  /// The connection's port on this side; nil without a connection.
  open var localPort: Int? { connection?.localAddress?.port }

  /// The connection's address on the other side; nil without a connection.
  open var remoteAddress: String? { connection?.remoteAddress?.ipAddress }

  /// The connection's port on the other side; nil without a connection.
  open var remotePort: Int? { connection?.remoteAddress?.port }

  /// The version of TLS that both sides agreed on; nil without TLS.
  open var negotiatedTLSProtocolVersion: tls_protocol_version_t? {
    connection?.tlsVersion.flatMap(tls_protocol_version_t.init)
  }

  /// The cipher suite that both sides agreed on; nil without TLS.
  open var negotiatedTLSCipherSuite: tls_ciphersuite_t? { connection?.tlsCipherSuite.flatMap(tls_ciphersuite_t.init) }

  /// Whether a mobile network carries the connection, as the kernel or NetworkManager says. False without a connection.
  /// The first of these questions about a connection may take a moment; the answer stays.
  open var isCellular: Bool { network.contains(.cellular) }

  /// Whether a network that costs money carries the connection: metered, as NetworkManager says, or a mobile one.
  open var isExpensive: Bool { network.contains(.expensive) }

  /// Whether a network carries the connection that its user has marked as metered.
  open var isConstrained: Bool { network.contains(.constrained) }

  /// Whether the connection was one of multipath TCP: both ends agreed to use several paths where there are any.
  open var isMultipath: Bool { connection?.isMultipath ?? false }

  // MARK: Bytes

  /// Bytes of the request head as sent, over HTTP/2 compressed. 0 when nothing was sent.
  open var countOfRequestHeaderBytesSent: Int64 { record.exchange?.requestHeaderBytes ?? 0 }

  /// Bytes of the request body as sent, framing and codings included.
  open var countOfRequestBodyBytesSent: Int64 { record.exchange?.requestBodyBytes ?? 0 }

  /// Bytes of the request body as the app gave it.
  open var countOfRequestBodyBytesBeforeEncoding: Int64 { record.requestBodyBytesBeforeEncoding }

  /// Bytes of the response head as received, over HTTP/2 compressed. 0 when nothing was received.
  open var countOfResponseHeaderBytesReceived: Int64 { record.exchange?.responseHeaderBytes ?? 0 }

  /// Bytes of the response body as received, framing and codings included.
  open var countOfResponseBodyBytesReceived: Int64 { record.exchange?.responseBodyBytes ?? 0 }

  /// Bytes of the response body as the app got it, decoded.
  open var countOfResponseBodyBytesAfterDecoding: Int64 { record.responseBodyBytesAfterDecoding }

  open override var description: String {
    "<\(type(of: self)): \(request.url?.withoutPassword.absoluteString ?? "no URL"), \(resourceFetchType), \(networkProtocolName ?? "no connection")"
      + "\(isReusedConnection ? ", reused" : "")>"
  }

  /// The request as it was sent, without its fields of framing; nil when none was.
  var sentHead: HTTPRequestHead? { record.sentHead }

  /// The header fields as they were sent; those of `request` when nothing was.
  package var sentFields: HTTPFields {
    guard let head = record.sentHead else { return record.request.headerFields }
    var fields = head.fields
    fields.fields.insert(.init(name: "Host", value: head.authority), at: 0)
    switch record.sentFraming {
    case .none: break
    case .length(let length): fields.append("Content-Length", String(length))
    case .chunked where networkProtocolName == "h2" || networkProtocolName == "h3": break
    case .chunked: fields.append("Transfer-Encoding", "chunked")
    }
    return fields
  }

  // MARK: Reading the record

  private var connection: ConnectionRecord? { record.exchange?.connection ?? record.unfinishedConnection }

  private var network: NetworkTraits { connection?.path?.traits ?? [] }

  /// The connection when it was made, or was to be made, for this transaction.
  private var fresh: ConnectionRecord? { isReusedConnection ? nil : connection }

  private func date(_ time: NIODeadline?) -> Date? { time.map { record.anchor.date(of: $0) } }

  /// A connection that was begun for another request counts from when this one wanted it.
  private func date(ofConnecting time: NIODeadline?) -> Date? { date(time.map { max($0, record.fetchStart) }) }
}
