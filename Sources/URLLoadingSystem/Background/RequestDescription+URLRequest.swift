import Foundation
import HTTPSemantics
import TransferProtocol

/// A message has no infinity; thirty years are as good.
func finite(_ interval: TimeInterval) -> TimeInterval { interval.isFinite ? min(max(interval, 0), 1e9) : 1e9 }

extension TransferDescription {
  /// About how many bytes it takes in a message: Base64 makes four of three.
  var estimatedLength: Int {
    let headers = request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    return 1_024 + request.url.utf8.count * 2 + headers * 2 + (taskDescription?.utf8.count ?? 0) * 2
      + (request.body?.count ?? 0) / 3 * 4
  }
}

extension RequestDescription {
  /// `request` as a message. What the app left at its default stays open, so that the session's setting applies.
  package init(_ request: URLRequest) {
    self.init(
      url: request.url?.absoluteString ?? "", method: request.httpMethod ?? "GET",
      headers: request.headerFields.fields.map { HeaderField($0.name, $0.value) }, body: request.httpBody)
    timeoutInterval = request.isTimeoutIntervalSet ? finite(request.timeoutInterval) : nil
    cachePolicy = request.isCachePolicySet ? request.cachePolicy.rawValue : nil
    networkServiceType = request.networkServiceType.rawValue
    allowsCellularAccess = request.allowsCellularAccess
    allowsExpensiveNetworkAccess = request.allowsExpensiveNetworkAccess
    allowsConstrainedNetworkAccess = request.allowsConstrainedNetworkAccess
    assumesHTTP3Capable = request.assumesHTTP3Capable
    httpShouldHandleCookies = request.httpShouldHandleCookies
    mainDocumentURL = request.mainDocumentURL?.absoluteString
    attribution = request.attribution.rawValue
  }

  /// The request that was described; nil when its URL is none.
  package var urlRequest: URLRequest? {
    guard let url = URL(string: url) else { return nil }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.headerFields = HTTPFields(headers.map { HTTPFields.Field(name: $0.name, value: $0.value) })
    request.httpBody = body
    if let timeoutInterval { request.timeoutInterval = timeoutInterval }
    if let policy = cachePolicy.flatMap({ URLRequest.CachePolicy(rawValue: $0) }) { request.cachePolicy = policy }
    if let type = networkServiceType.flatMap({ URLRequest.NetworkServiceType(rawValue: $0) }) {
      request.networkServiceType = type
    }
    if let allowsCellularAccess { request.allowsCellularAccess = allowsCellularAccess }
    if let allowsExpensiveNetworkAccess { request.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess }
    if let allowsConstrainedNetworkAccess { request.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess }
    if let assumesHTTP3Capable { request.assumesHTTP3Capable = assumesHTTP3Capable }
    if let httpShouldHandleCookies { request.httpShouldHandleCookies = httpShouldHandleCookies }
    request.mainDocumentURL = mainDocumentURL.flatMap { URL(string: $0) }
    if let attribution = attribution.flatMap({ URLRequest.Attribution(rawValue: $0) }) {
      request.attribution = attribution
    }
    return request
  }
}

extension ResponseSummary {
  package init(_ response: HTTPURLResponse, head: HTTPResponseHead) {
    self.init(
      url: response.url?.absoluteString ?? "", status: head.status,
      version: "HTTP/\(head.version.major).\(head.version.minor)",
      headers: head.fields.fields.map { HeaderField($0.name, $0.value) },
      expectedContentLength: response.expectedContentLength)
  }

  /// The response as the app sees it.
  package var urlResponse: HTTPURLResponse {
    let digits = version.utf8.filter { (0x30...0x39).contains($0) }.map { Int($0) - 0x30 }
    let fields = headers.map { HTTPFields.Field(name: $0.name, value: $0.value) }
    let head = HTTPResponseHead(
      version: digits.count == 2 ? HTTPVersion(major: digits[0], minor: digits[1]) : .http11, status: status,
      fields: HTTPFields(fields))
    return HTTPURLResponse(url: URL(string: url), head: head)
  }
}

extension TransferFailure {
  /// `error` taken apart for a message.
  package init(_ error: URLError) {
    self.init(
      domain: NSURLErrorDomain, code: error.errorCode,
      message: error.userInfo[NSLocalizedDescriptionKey] as? String ?? error.localizedDescription,
      url: (error.userInfo[NSURLErrorFailingURLErrorKey] as? URL)?.absoluteString)
    cancelReason = error.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int
  }

  /// The error that was described.
  package var urlError: URLError {
    var userInfo: [String: Any] = [NSLocalizedDescriptionKey: message]
    if let cancelReason { userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] = cancelReason }
    if let underlyingDomain, let underlyingCode {
      userInfo[NSUnderlyingErrorKey] = NSError(domain: underlyingDomain, code: underlyingCode)
    }
    let code = (domain == NSURLErrorDomain ? URLError.Code(rawValue: code) : nil) ?? .unknown
    return ErrorMapping.urlError(URLError(code, userInfo: userInfo), url: url.flatMap { URL(string: $0) })
  }
}
