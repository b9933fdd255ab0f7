import Foundation
import HTTPSemantics

extension HARLog.Entry {
  /// The entry of the format for one transaction.
  public init(_ transaction: URLSessionTaskTransactionMetrics, credentials: HARLog.Credentials = .redacted) {
    let timings = HARLog.Timings(transaction)
    self.init(
      startedDateTime: (transaction.fetchStartDate ?? .distantPast).formatted(HARLog.dates),
      time: (timings.total * 1000).rounded() / 1000,
      request: HARLog.Request(transaction, credentials: credentials),
      response: HARLog.Response(transaction, credentials: credentials), timings: timings,
      serverIPAddress: transaction.remoteAddress, connection: transaction.localPort.map { String($0) },
      comment: transaction.response == nil ? "No response arrived." : nil)
  }

  /// For sorting: the form of the date sorts as the date does.
  var start: String { startedDateTime }
}

extension HARLog {
  static let dates = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// The fields, in order.
  static func fields(_ fields: HTTPFields, _ credentials: Credentials) -> [NameAndValue] {
    fields.fields.map { field in
      NameAndValue(
        name: field.name,
        value: credentials == .redacted ? ShownFields.value(field.value, of: field.name) : field.value)
    }
  }

  /// The target of a redirect. It is left as the server wrote it unless it names a user.
  static func location(_ text: String, _ credentials: Credentials) -> String {
    credentials == .redacted ? ShownFields.withoutUsers(text) : text
  }

  static func url(_ url: URL?, _ credentials: Credentials) -> String {
    guard let url else { return "" }
    guard credentials == .redacted, url.user != nil || url.password != nil,
      var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return url.absoluteString }
    components.user = nil
    components.password = nil
    return components.string ?? ""
  }
}

extension HARLog.Request {
  init(_ transaction: URLSessionTaskTransactionMetrics, credentials: HARLog.Credentials) {
    let request = transaction.request
    let wasSent = transaction.requestStartDate != nil
    let fields = transaction.sentFields
    self.init(
      method: request.httpMethod ?? "GET", url: HARLog.url(request.url, credentials),
      httpVersion: transaction.httpVersion ?? "", cookies: HARLog.Cookie.sent(in: fields, credentials),
      headers: HARLog.fields(fields, credentials), queryString: HARLog.NameAndValue.query(of: request.url),
      headersSize: wasSent ? transaction.countOfRequestHeaderBytesSent : -1,
      bodySize: wasSent ? transaction.countOfRequestBodyBytesSent : -1)
  }
}

extension HARLog.Response {
  init(_ transaction: URLSessionTaskTransactionMetrics, credentials: HARLog.Credentials) {
    let response = transaction.response as? HTTPURLResponse
    let fields = response?.head.fields ?? HTTPFields()
    let status = response?.statusCode ?? 0
    let isFromNetwork = response != nil && transaction.resourceFetchType == .networkLoad
    let received = isFromNetwork ? transaction.countOfResponseBodyBytesReceived : -1
    let size = transaction.countOfResponseBodyBytesAfterDecoding
    self.init(
      status: status, statusText: response?.head.reason ?? "",
      httpVersion: response == nil ? "" : transaction.httpVersion ?? "",
      cookies: HARLog.Cookie.set(by: fields, credentials), headers: HARLog.fields(fields, credentials),
      content: HARLog.Content(
        size: size, compression: isFromNetwork ? size - received : nil,
        mimeType: fields["Content-Type"] ?? transaction.response?.mimeType ?? "application/octet-stream"),
      redirectURL: (300..<400).contains(status) ? HARLog.location(fields["Location"] ?? "", credentials) : "",
      headersSize: isFromNetwork ? transaction.countOfResponseHeaderBytesReceived : -1, bodySize: received)
  }
}

extension HARLog.NameAndValue {
  /// The `name=value` pairs of a query, percent-decoded where that gives text.
  fileprivate static func query(of url: URL?) -> [Self] {
    guard let query = url?.query(percentEncoded: true), !query.isEmpty else { return [] }
    return query.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return Self(name: decoded(parts.first ?? ""), value: parts.count > 1 ? decoded(parts[1]) : "")
    }
  }

  private static func decoded(_ text: Substring) -> String { String(text).removingPercentEncoding ?? String(text) }
}

extension HARLog.Cookie {
  /// The pairs of Cookie fields (RFC 6265 §4.2.1).
  fileprivate static func sent(in fields: HTTPFields, _ credentials: HARLog.Credentials) -> [Self] {
    fields.values("Cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      return Self(name: parts[0].trimmingHTTPWhitespace(), value: shown(parts[1].trimmingHTTPWhitespace(), credentials))
    }
  }

  fileprivate static func set(by fields: HTTPFields, _ credentials: HARLog.Credentials) -> [Self] {
    let now = Int64(Date().timeIntervalSince1970)
    return fields.values("Set-Cookie").compactMap { SetCookie.parse($0, now: now) }.map { cookie in
      let expires = cookie.expires.map { Date(timeIntervalSince1970: TimeInterval($0)).formatted(HARLog.dates) }
      return Self(
        name: cookie.name, value: shown(cookie.value, credentials), path: cookie.path, domain: cookie.domain,
        expires: expires, httpOnly: cookie.isHTTPOnly, secure: cookie.isSecure)
    }
  }

  private static func shown(_ value: String, _ credentials: HARLog.Credentials) -> String {
    credentials == .redacted ? ShownFields.notShown : value
  }
}
