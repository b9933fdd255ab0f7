import CommandLineOutput
import Foundation
import URLLoadingSystem

/// What `-v` tells: `>` what is sent, `<` what is received, `*` what happened.
enum VerboseLines {
  static func request(_ request: URLRequest) -> [String] {
    let url = request.url
    var target = url?.path(percentEncoded: true) ?? ""
    if target.isEmpty { target = "/" }
    if let query = url?.query(percentEncoded: true) { target += "?" + query }
    var lines = ["\(request.httpMethod ?? "GET") \(target)"]
    if let host = url?.host { lines.append("Host: \(host)\(url?.port.map { ":\($0)" } ?? "")") }
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      lines.append("\(name): \(isSecret(name) ? "(not shown)" : value)")
    }
    if let length = request.httpBody?.count { lines.append("Content-Length: \(length)") }
    return marked(">", lines + [""])
  }

  static func response(_ response: URLResponse) -> [String] { marked("<", head(of: response) + [""]) }

  /// A status line and the header fields by name.
  static func head(of response: URLResponse) -> [String] {
    guard let response = response as? HTTPURLResponse else {
      return ["\(response.mimeType ?? "unknown type"), \(ByteFormat.bytes(response.expectedContentLength))"]
    }
    let text = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
    return ["HTTP \(response.statusCode) \(text)"] + fields(of: response).map { "\($0.name): \($0.value)" }
  }

  static func fields(of response: HTTPURLResponse) -> [(name: String, value: String)] {
    response.allHeaderFields.compactMap { name, value in
      guard let name = name as? String, let value = value as? String else { return nil }
      return (name, value)
    }.sorted { $0.name < $1.name }
  }

  static func metrics(_ metrics: URLSessionTaskMetrics) -> [String] {
    var lines: [String] = []
    for transaction in metrics.transactionMetrics {
      let url = transaction.request.url?.absoluteString ?? ""
      lines.append("\(url): \(connection(of: transaction))")
      lines += tls(of: transaction)
      let sent = transaction.countOfRequestHeaderBytesSent + transaction.countOfRequestBodyBytesSent
      let received = transaction.countOfResponseHeaderBytesReceived + transaction.countOfResponseBodyBytesReceived
      lines.append("  \(sent) bytes sent, \(received) received; \(times(of: transaction))")
    }
    let redirects = metrics.redirectCount == 0 ? "" : ", \(metrics.redirectCount) redirects"
    lines.append("\(milliseconds(metrics.taskInterval.duration)) in all\(redirects)")
    return marked("*", lines)
  }

  private static func connection(of transaction: URLSessionTaskTransactionMetrics) -> String {
    guard transaction.resourceFetchType == .networkLoad else { return "from this machine" }
    guard let address = transaction.remoteAddress, let port = transaction.remotePort else { return "not connected" }
    let server = address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    let name = transaction.networkProtocolName ?? "unknown protocol"
    let proxy = transaction.proxyName.map { "the proxy \($0) at " } ?? ""
    return "\(transaction.isReusedConnection ? "connection reused" : "connected") to \(proxy)\(server), \(name)"
  }

  private static func tls(of transaction: URLSessionTaskTransactionMetrics) -> [String] {
    guard let version = transaction.negotiatedTLSProtocolVersion else { return [] }
    let suite = transaction.negotiatedTLSCipherSuite.map { ", \($0)" } ?? ""
    return ["  secured with \(version)\(suite)"]
  }

  /// The steps that took place, each with how long it took.
  private static func times(of transaction: URLSessionTaskTransactionMetrics) -> String {
    let steps: [(String, Date?, Date?)] = [
      ("lookup", transaction.domainLookupStartDate, transaction.domainLookupEndDate),
      ("connect", transaction.connectStartDate, transaction.connectEndDate),
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

  /// What is typed as a secret must not end up in a log.
  private static func isSecret(_ name: String) -> Bool {
    ["authorization", "proxy-authorization", "cookie"].contains(name.lowercased())
  }

  private static func marked(_ mark: String, _ lines: [String]) -> [String] {
    lines.map { $0.isEmpty ? mark : "\(mark) \(TextTable.printable($0))" }
  }
}
