import Foundation
import HTTPSemantics

/// A resource to load, and how: a URL, the policy for caches and networks and, for HTTP, the method, header fields and
/// body.
///
/// A value: sessions and tasks copy it when they get it, and a copy costs one reference count until it is changed.
/// The loader itself writes `Content-Length`, `Authorization`, `Connection`, `Host`, `Proxy-Authenticate`,
/// `Proxy-Authorization` and `WWW-Authenticate`; values an app sets for them may be replaced.
public struct URLRequest: Hashable, @unchecked Sendable {
  // Sendable by hand: `change` alone changes a box, and only one that no other request shares. The one reference type
  // inside, an unopened body stream, is handed over to the load.
  private(set) var box: Box

  /// How a load treats caches, see `NSURLRequest.CachePolicy`.
  public typealias CachePolicy = NSURLRequest.CachePolicy
  /// The kind of traffic that a load is, see `NSURLRequest.NetworkServiceType`.
  public typealias NetworkServiceType = NSURLRequest.NetworkServiceType
  /// The party that chose the URL, see `NSURLRequest.Attribution`.
  public typealias Attribution = NSURLRequest.Attribution

  /// A request for `url`, which is made absolute, with the method GET and no header fields.
  ///
  /// - Parameters:
  ///   - url: The resource to load.
  ///   - cachePolicy: How to treat caches. A policy other than the default wins over the session configuration's.
  ///   - timeoutInterval: Longest time without any progress, in seconds. A value other than 60 wins over the session
  ///     configuration's `timeoutIntervalForRequest`; 60 counts as not set.
  public init(url: URL, cachePolicy: CachePolicy = .useProtocolCachePolicy, timeoutInterval: TimeInterval = 60.0) {
    box = Box(url: url.absoluteURL)
    box.cachePolicy = cachePolicy
    box.timeoutInterval = timeoutInterval
    // Swift callers pass the default arguments too, so only other values tell that the app chose.
    if cachePolicy != .useProtocolCachePolicy { box.flags.insert(.cachePolicyIsSet) }
    if timeoutInterval != 60 { box.flags.insert(.timeoutIntervalIsSet) }
  }

  /// The request of a bare `NSURLRequest()`, which has no URL.
  init() { box = Box(url: nil) }

  // MARK: What to load

  /// The resource to load.
  public var url: URL? {
    get { box.url }
    set { change { $0.url = newValue } }
  }

  /// How caches are used. Default `.useProtocolCachePolicy`: the session configuration's `requestCachePolicy`.
  public var cachePolicy: CachePolicy {
    get { box.cachePolicy }
    set {
      change {
        $0.cachePolicy = newValue
        $0.flags.insert(.cachePolicyIsSet)
      }
    }
  }

  /// Longest time without any progress, in seconds; every byte starts it anew. Default 60. Once set it wins over the
  /// session configuration's `timeoutIntervalForRequest`.
  public var timeoutInterval: TimeInterval {
    get { box.timeoutInterval }
    set {
      change {
        $0.timeoutInterval = newValue
        $0.flags.insert(.timeoutIntervalIsSet)
      }
    }
  }

  /// The top-level document that this request is made for: decides what "same site" means for cookies. Default nil.
  public var mainDocumentURL: URL? {
    get { box.mainDocumentURL }
    set { change { $0.mainDocumentURL = newValue } }
  }

  /// A hint about the kind of traffic. Default `.default`.
  public var networkServiceType: NetworkServiceType {
    get { box.networkServiceType }
    set { change { $0.networkServiceType = newValue } }
  }

  /// Whether a mobile network may carry the request. Default true; a session that forbids it wins.
  public var allowsCellularAccess: Bool {
    get { box.flags.contains(.allowsCellularAccess) }
    set { change { $0.flags.set(.allowsCellularAccess, newValue) } }
  }

  /// Whether a network that costs money may carry the request. Default true; a session that forbids it wins.
  public var allowsExpensiveNetworkAccess: Bool {
    get { box.flags.contains(.allowsExpensiveNetworkAccess) }
    set { change { $0.flags.set(.allowsExpensiveNetworkAccess, newValue) } }
  }

  /// Whether a network in low data mode may carry the request. Default true; a session that forbids it wins.
  public var allowsConstrainedNetworkAccess: Bool {
    get { box.flags.contains(.allowsConstrainedNetworkAccess) }
    set { change { $0.flags.set(.allowsConstrainedNetworkAccess, newValue) } }
  }

  /// Whether a very narrow network, such as a satellite link, may carry the request. Default false: apps opt in.
  public var allowsUltraConstrainedNetworkAccess: Bool {
    get { box.flags.contains(.allowsUltraConstrainedNetworkAccess) }
    set { change { $0.flags.set(.allowsUltraConstrainedNetworkAccess, newValue) } }
  }

  /// Whether to try HTTP/3 without the server having advertised it. Default false.
  public var assumesHTTP3Capable: Bool {
    get { box.flags.contains(.assumesHTTP3Capable) }
    set { change { $0.flags.set(.assumesHTTP3Capable, newValue) } }
  }

  /// Whether the developer or the user chose the URL. Default `.developer`.
  public var attribution: Attribution {
    get { box.attribution }
    set { change { $0.attribution = newValue } }
  }

  /// Whether name resolution must be validated by DNSSEC. Default false.
  public var requiresDNSSECValidation: Bool {
    get { box.flags.contains(.requiresDNSSECValidation) }
    set { change { $0.flags.set(.requiresDNSSECValidation, newValue) } }
  }

  /// Whether addresses of the host may be used that the process looked up earlier and that are past their time, up to a day.
  /// New ones are looked up meanwhile, for later requests. Default false.
  public var allowsPersistentDNS: Bool {
    get { box.flags.contains(.allowsPersistentDNS) }
    set { change { $0.flags.set(.allowsPersistentDNS, newValue) } }
  }

  /// The partition of the cookie store that the request uses. nil, the default: the unpartitioned cookies.
  public var cookiePartitionIdentifier: String? {
    get { box.cookiePartitionIdentifier }
    set { change { $0.cookiePartitionIdentifier = newValue } }
  }

  // MARK: HTTP

  /// The request method. Default GET, which nil sets again. GET, POST, HEAD, PUT, DELETE and CONNECT are
  /// kept in upper case.
  public var httpMethod: String? {
    get { box.httpMethod }
    set { change { $0.httpMethod = newValue.map(URLRequest.normalizedMethod) ?? "GET" } }
  }

  /// Every header field by name; nil when there is none and none was ever set. Setting replaces all of them.
  public var allHTTPHeaderFields: [String: String]? {
    get {
      let fields = box.fields.fields
      if fields.isEmpty { return box.flags.contains(.headerFieldsAreSet) ? [:] : nil }
      return Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $0 + "," + $1 })
    }
    set {
      change { box in
        box.fields = HTTPFields()
        box.flags.set(.headerFieldsAreSet, newValue != nil)
        // A dictionary has no order; sorting makes what is sent the same in every run.
        for (name, value) in (newValue ?? [:]).sorted(by: { $0.key < $1.key }) where FieldValidation.canBeSent(value) {
          box.fields[name] = value
        }
      }
    }
  }

  /// The value of a header field, whose name is compared without regard to case; nil when it is absent.
  public func value(forHTTPHeaderField field: String) -> String? { box.fields[field] }

  /// Replaces a header field, whose name keeps the spelling under which it was first set; nil removes it.
  ///
  /// A value that no message can carry, since it has a line end, NUL or another control character in it, is not taken:
  /// the field stays as it was. A line end before a space or tab folds the line (RFC 9112 §5.2) and is sent as a space.
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
    guard value.map(FieldValidation.canBeSent) ?? true else { return }
    change { $0.fields[field] = value }
  }

  /// Appends to a header field, after a comma when it already has a value. Takes what `setValue` takes.
  public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
    guard FieldValidation.canBeSent(value) else { return }
    change { box in
      if let index = box.fields.fields.firstIndex(where: { asciiCaseInsensitiveEqual($0.name, field) }) {
        box.fields.fields[index].value += "," + value
      } else {
        box.fields.append(field, value)
      }
    }
  }

  /// The body as bytes. Setting it, also to nil, drops the body stream.
  public var httpBody: Data? {
    get { box.httpBody }
    set {
      change {
        $0.httpBody = newValue
        $0.httpBodyStream = nil
      }
    }
  }

  /// The body as an unopened stream, which the load opens and closes. Setting it, also to nil, drops the body data.
  /// Copies of the request share it; archives lose it.
  ///
  /// It is read on a thread of the library, and may block there. When the task ends while `read` of a subclass has been
  /// waiting for a second, `close` is called on another thread and should make it return.
  public var httpBodyStream: InputStream? {
    get { box.httpBodyStream }
    set {
      change {
        $0.httpBodyStream = newValue
        $0.httpBody = nil
      }
    }
  }

  /// Whether stored cookies are sent and received ones stored. Default true.
  public var httpShouldHandleCookies: Bool {
    get { box.flags.contains(.httpShouldHandleCookies) }
    set { change { $0.flags.set(.httpShouldHandleCookies, newValue) } }
  }

  /// Whether the request may be sent before the answer to the one before has arrived. Default false. Followed for GET,
  /// HEAD and OPTIONS requests without a body (`URLSessionConfiguration.httpShouldUsePipelining`).
  public var httpShouldUsePipelining: Bool {
    get { box.flags.contains(.httpShouldUsePipelining) }
    set { change { $0.flags.set(.httpShouldUsePipelining, newValue) } }
  }

  // MARK: For the loading system

  /// The header fields in the order in which they are sent.
  package var headerFields: HTTPFields {
    get { box.fields }
    set { change { $0.fields = newValue } }
  }

  /// Whether the app chose a cache policy; otherwise the session configuration's applies.
  package var isCachePolicySet: Bool { box.flags.contains(.cachePolicyIsSet) }

  /// Whether the app chose a timeout; otherwise the session configuration's applies.
  package var isTimeoutIntervalSet: Bool { box.flags.contains(.timeoutIntervalIsSet) }

  /// The value that `URLProtocol.setProperty` left on the request.
  package func protocolProperty(forKey key: String) -> Any? { box.protocolProperties?[key] }

  /// Everything that `URLProtocol.setProperty` left on the request.
  var protocolProperties: [String: Any] { box.protocolProperties ?? [:] }

  /// Sets what `URLProtocol.property(forKey:in:)` finds; nil removes it.
  package mutating func setProtocolProperty(_ value: Any?, forKey key: String) {
    change { box in
      var properties = box.protocolProperties ?? [:]
      properties[key] = value
      box.protocolProperties = properties.isEmpty ? nil : properties
    }
  }

  var flags: Flags {
    get { box.flags }
    set { change { $0.flags = newValue } }
  }

  private mutating func change(_ body: (Box) -> Void) {
    if !isKnownUniquelyReferenced(&box) { box = Box(copying: box) }
    assert(isKnownUniquelyReferenced(&box))
    body(box)
  }

  /// RFC 9110 §9.1: methods are case-sensitive, so `post` would be another method than POST. As on Apple's systems
  /// these six are understood in any case and all others, OPTIONS and TRACE among them, are kept as they are.
  static func normalizedMethod(_ method: String) -> String {
    switch method {
    case "GET", "POST", "HEAD", "PUT", "DELETE": return method
    default:
      let standard = ["GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT"]
      return standard.first { asciiCaseInsensitiveEqual($0, method) } ?? method
    }
  }

  // MARK: Comparing

  public static func == (left: URLRequest, right: URLRequest) -> Bool {
    left.box === right.box || left.box.isEqual(to: right.box)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(box.url)
    hasher.combine(box.httpMethod)
    hasher.combine(box.mainDocumentURL)
    hasher.combine(box.httpBody)
    hasher.combine(box.httpBodyStream.map { ObjectIdentifier($0) })
  }
}
