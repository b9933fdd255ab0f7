import CommandLineOutput
import Foundation
import URLLoadingSystem

/// The lines of `-v`: `>` for what is sent, `<` for what is received, `*` for what happened.
enum VerboseLines {
  static func request(_ head: MessageHeadText) -> [String] {
    marked(">", HeadLines.lines(of: head, hidesUsers: true) + [""])
  }

  static func response(_ response: URLResponse) -> [String] {
    marked("<", HeadLines.lines(of: response, hidesUsers: true) + [""])
  }

  static func loading(_ url: URL?) -> [String] { marked("*", ["loading \(shown(url))"]) }

  /// The connection that a request is sent on, with what is known of the server on its other end.
  static func connection(_ transaction: URLSessionTaskTransactionMetrics, _ certificate: SecCertificate?) -> [String] {
    marked("*", [connection(of: transaction)] + tls(of: transaction) + text(of: certificate))
  }

  private static func text(of certificate: SecCertificate?) -> [String] {
    guard let certificate else { return [] }
    guard let names = certificate.names else { return ["  certificate: unreadable"] }
    var lines = ["  certificate of \(names.subject)", "  issued by \(names.issuer)"]
    if let start = SecCertificateCopyNotValidBeforeDate(certificate),
      let end = SecCertificateCopyNotValidAfterDate(certificate)
    {
      let days = Int((end.timeIntervalSinceNow / 86_400).rounded(.down))
      let rest = days >= 0 ? "\(days) days left" : "expired"
      lines.append("  valid from \(start.formatted(.iso8601)) to \(end.formatted(.iso8601)), \(rest)")
    }
    return lines
  }

  static func metrics(_ metrics: URLSessionTaskMetrics) -> [String] {
    var lines: [String] = []
    for transaction in metrics.transactionMetrics {
      lines.append(shown(transaction.request.url))
      let sent = transaction.countOfRequestHeaderBytesSent + transaction.countOfRequestBodyBytesSent
      let received = transaction.countOfResponseHeaderBytesReceived + transaction.countOfResponseBodyBytesReceived
      lines.append("  \(sent) bytes sent, \(received) received; \(times(of: transaction))")
    }
    let redirects =
      switch metrics.redirectCount {
      case 0: ""
      case 1: ", 1 redirect"
      case let count: ", \(count) redirects"
      }
    lines.append("\(milliseconds(metrics.taskInterval.duration)) in all\(redirects)")
    return marked("*", lines)
  }

  private static func connection(of transaction: URLSessionTaskTransactionMetrics) -> String {
    guard transaction.resourceFetchType == .networkLoad else { return "from this machine" }
    let proxy = transaction.proxyName.map { "the proxy \($0)" }
    let verb = transaction.isReusedConnection ? "goes on with the connection" : "connected"
    guard let address = endpoint(transaction.remoteAddress, transaction.remotePort) else {
      if proxy == nil, transaction.connectEndDate != nil || transaction.isReusedConnection {
        return "\(verb) to \(socket(of: transaction.request.url))"
      }
      return "not connected" + (proxy.map { " to \($0)" } ?? "")
    }
    let local = endpoint(transaction.localAddress, transaction.localPort).map { " from \($0)" } ?? ""
    let host = transaction.request.url?.host ?? "the server"
    guard let proxy else { return "\(verb) to \(host) at \(address)\(local)" }
    // The proxy itself is sent what names the server in its first line, and is as far as one got without a request.
    if transaction.isForwarded || transaction.requestHeadText == nil {
      return "\(verb) to \(proxy) at \(address)\(local)"
    }
    return "\(verb) to \(host) through \(proxy) at \(address)\(local)"
  }

  /// A connection without an address of the network. The option `--unix-socket` is in no URL.
  private static func socket(of url: URL?) -> String {
    guard url?.scheme?.lowercased() == "http+unix", let path = url?.host(percentEncoded: false) else {
      return "a Unix-domain socket"
    }
    return "the socket \(path)"
  }

  private static func endpoint(_ address: String?, _ port: Int?) -> String? {
    guard let address, let port else { return nil }
    return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
  }

  /// A secret that is typed in a URL is not shown either.
  private static func shown(_ url: URL?) -> String {
    url?.withoutPassword.absoluteString ?? ""
  }

  private static func tls(of transaction: URLSessionTaskTransactionMetrics) -> [String] {
    // Told when the connection was made.
    guard !transaction.isReusedConnection, let version = transaction.negotiatedTLSProtocolVersion else { return [] }
    let suite = transaction.negotiatedTLSCipherSuite.map { ", TLS_\($0)" } ?? ""
    let name = transaction.networkProtocolName.map { ", \($0)" } ?? ""
    return ["  secured with \(text(of: version))\(suite)\(name)"]
  }

  private static func text(of version: tls_protocol_version_t) -> String {
    switch version {
    case .TLSv10: "TLS 1.0"
    case .TLSv11: "TLS 1.1"
    case .TLSv12: "TLS 1.2"
    case .TLSv13: "TLS 1.3"
    case .DTLSv10: "DTLS 1.0"
    case .DTLSv12: "DTLS 1.2"
    }
  }

  /// The steps that took place, each with how long it took.
  private static func times(of transaction: URLSessionTaskTransactionMetrics) -> String {
    let steps: [(String, Date?, Date?)] = [
      ("lookup", transaction.domainLookupStartDate, transaction.domainLookupEndDate),
      ("connect", transaction.connectStartDate, transaction.secureConnectionStartDate ?? transaction.connectEndDate),
      ("TLS", transaction.secureConnectionStartDate, transaction.secureConnectionEndDate),
      ("request", transaction.requestStartDate, transaction.requestEndDate),
      ("wait", transaction.requestEndDate, transaction.responseStartDate),
      ("response", transaction.responseStartDate, transaction.responseEndDate),
    ]
    let told = steps.compactMap { name, start, end -> String? in
      guard let start, let end else { return nil }
      return "\(name) \(milliseconds(end.timeIntervalSince(start)))"
    }
    return told.isEmpty ? "no times" : told.joined(separator: ", ")
  }

  private static func milliseconds(_ seconds: TimeInterval) -> String {
    let tenths = (max(0, seconds) * 10_000).rounded() / 10
    return "\(tenths) ms"
  }

  private static func marked(_ mark: String, _ lines: [String]) -> [String] {
    lines.map { $0.isEmpty ? mark : "\(mark) \(TextTable.printable($0))" }
  }
}
