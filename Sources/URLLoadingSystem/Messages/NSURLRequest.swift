import Foundation
import HTTPSemantics
import Synchronization

/// The reference form of `URLRequest`: immutable, can be archived, bridges with `as`.
///
/// May be used from any thread. A mutable one has a lock for each access; a load copies it when it is made.
open class NSURLRequest: NSObject, NSCopying, NSMutableCopying, NSSecureCoding, @unchecked Sendable {
  private let value: Mutex<URLRequest>

  /// The value behind every property.
  package var request: URLRequest { value.withLock { $0 } }

  /// Changes the value behind every property: for `NSMutableURLRequest`.
  final func change(_ body: (inout URLRequest) -> Void) { value.withLock { body(&$0) } }

  /// A request for `URL` with the default policy and timeout.
  public convenience init(url URL: URL) {
    self.init(url: URL, cachePolicy: .useProtocolCachePolicy, timeoutInterval: 60)
  }

  /// A request for `URL`. See `URLRequest.init(url:cachePolicy:timeoutInterval:)`.
  public init(url URL: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
    value = Mutex(URLRequest(url: URL, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval))
  }

  /// A request without a URL.
  public override init() { value = Mutex(URLRequest()) }

  package init(_ request: URLRequest) { value = Mutex(request) }

  /// The resource to load; nil for a request that was made without one, which fails with `URLError.unsupportedURL`.
  open var url: URL? { request.url }
  /// How caches are used. Default `.useProtocolCachePolicy`: the session configuration's `requestCachePolicy`.
  open var cachePolicy: CachePolicy { request.cachePolicy }
  /// Longest time without any progress, in seconds. Default 60. See `URLRequest.timeoutInterval`.
  open var timeoutInterval: TimeInterval { request.timeoutInterval }
  /// The top-level document that the request is made for: decides what "same site" means for cookies. Default nil.
  open var mainDocumentURL: URL? { request.mainDocumentURL }
  /// A hint about the kind of traffic. Default `.default`.
  open var networkServiceType: NetworkServiceType { request.networkServiceType }
  /// Whether a mobile network may carry the request. Default true; a session that forbids it wins.
  open var allowsCellularAccess: Bool { request.allowsCellularAccess }
  /// Whether a network that costs money may carry the request. Default true; a session that forbids it wins.
  open var allowsExpensiveNetworkAccess: Bool { request.allowsExpensiveNetworkAccess }
  /// Whether a network in low data mode may carry the request. Default true; a session that forbids it wins.
  open var allowsConstrainedNetworkAccess: Bool { request.allowsConstrainedNetworkAccess }
  /// Whether a very narrow network may carry the request. Default false. Without effect: Linux does not say that a
  /// network is one.
  open var allowsUltraConstrainedNetworkAccess: Bool { request.allowsUltraConstrainedNetworkAccess }
  /// Whether to try HTTP/3 without the server having advertised it. Default false. Without effect where the
  /// package was built without its trait `HTTP3`.
  open var assumesHTTP3Capable: Bool { request.assumesHTTP3Capable }
  /// Whether the developer or the user chose the URL. Default `.developer`.
  open var attribution: Attribution { request.attribution }
  /// Whether name resolution must be validated by DNSSEC. Default false.
  open var requiresDNSSECValidation: Bool { request.requiresDNSSECValidation }
  /// Whether resolved addresses may be kept past their time to live. Default false. Without effect: none are.
  open var allowsPersistentDNS: Bool { request.allowsPersistentDNS }
  /// The partition of the cookie store that the request uses. nil, the default: the unpartitioned cookies.
  open var cookiePartitionIdentifier: String? { request.cookiePartitionIdentifier }

  /// The request method. Default GET.
  open var httpMethod: String? { request.httpMethod }
  /// Every header field by name; nil when there is none and none was ever set.
  open var allHTTPHeaderFields: [String: String]? { request.allHTTPHeaderFields }
  /// The value of a header field, whose name is compared without regard to case; nil when it is absent.
  open func value(forHTTPHeaderField field: String) -> String? { request.value(forHTTPHeaderField: field) }
  /// The body as bytes; nil when there is none or it is a stream.
  open var httpBody: Data? { request.httpBody }
  /// The body as an unopened stream, which the load opens and closes; nil when there is none or it is bytes.
  open var httpBodyStream: InputStream? { request.httpBodyStream }
  /// Whether stored cookies are sent and received ones stored. Default true.
  open var httpShouldHandleCookies: Bool { request.httpShouldHandleCookies }
  /// Whether the request may be sent before the answer to the one before has arrived. Default false. See
  /// `URLRequest.httpShouldUsePipelining`.
  open var httpShouldUsePipelining: Bool { request.httpShouldUsePipelining }

  // MARK: Copying and comparing

  /// An immutable request: itself, unless this one can change.
  open override func copy() -> Any { copy(with: nil) }

  /// As `copy()`; `zone` has no meaning.
  open func copy(with zone: NSZone? = nil) -> Any { self is NSMutableURLRequest ? NSURLRequest(request) : self }

  /// A mutable request with the same contents, as `mutableCopy(with:)`.
  open override func mutableCopy() -> Any { mutableCopy(with: nil) }

  /// A mutable request with the same contents that shares nothing but an unopened body stream; `zone` has no meaning.
  open func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableURLRequest(request) }

  open override func isEqual(_ object: Any?) -> Bool {
    switch object {
    case let other as NSURLRequest: return request == other.request
    case let other as URLRequest: return request == other
    default: return false
    }
  }

  open override var hash: Int { request.hashValue }

  open override var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<\(type(of: self)): 0x\(address)> { URL: \(url?.withoutPassword.absoluteString ?? "(null)") }"
  }

  // MARK: Archiving

  /// Always true: an archive names the classes it may be read as.
  open class var supportsSecureCoding: Bool { true }

  /// Reads an archived request; nil where the archive has none, or is not keyed.
  public required init?(coder: NSCoder) {
    guard let request = URLRequest(archivedIn: coder) else { return nil }
    value = Mutex(request)
  }

  /// Archives everything but a body stream and what a `URLProtocol` left on the request.
  open func encode(with coder: NSCoder) { request.archive(in: coder) }
}

/// The reference form of `URLRequest` that can be changed. Each change is one step for other threads.
open class NSMutableURLRequest: NSURLRequest, @unchecked Sendable {
  // Sendable by hand: no state but that of `NSURLRequest`, which is behind a lock.

  open override var url: URL? {
    get { request.url }
    set { change { $0.url = newValue } }
  }

  open override var cachePolicy: CachePolicy {
    get { request.cachePolicy }
    set { change { $0.cachePolicy = newValue } }
  }

  open override var timeoutInterval: TimeInterval {
    get { request.timeoutInterval }
    set { change { $0.timeoutInterval = newValue } }
  }

  open override var mainDocumentURL: URL? {
    get { request.mainDocumentURL }
    set { change { $0.mainDocumentURL = newValue } }
  }

  open override var networkServiceType: NetworkServiceType {
    get { request.networkServiceType }
    set { change { $0.networkServiceType = newValue } }
  }

  open override var allowsCellularAccess: Bool {
    get { request.allowsCellularAccess }
    set { change { $0.allowsCellularAccess = newValue } }
  }

  open override var allowsExpensiveNetworkAccess: Bool {
    get { request.allowsExpensiveNetworkAccess }
    set { change { $0.allowsExpensiveNetworkAccess = newValue } }
  }

  open override var allowsConstrainedNetworkAccess: Bool {
    get { request.allowsConstrainedNetworkAccess }
    set { change { $0.allowsConstrainedNetworkAccess = newValue } }
  }

  open override var allowsUltraConstrainedNetworkAccess: Bool {
    get { request.allowsUltraConstrainedNetworkAccess }
    set { change { $0.allowsUltraConstrainedNetworkAccess = newValue } }
  }

  open override var assumesHTTP3Capable: Bool {
    get { request.assumesHTTP3Capable }
    set { change { $0.assumesHTTP3Capable = newValue } }
  }

  open override var attribution: Attribution {
    get { request.attribution }
    set { change { $0.attribution = newValue } }
  }

  open override var requiresDNSSECValidation: Bool {
    get { request.requiresDNSSECValidation }
    set { change { $0.requiresDNSSECValidation = newValue } }
  }

  open override var allowsPersistentDNS: Bool {
    get { request.allowsPersistentDNS }
    set { change { $0.allowsPersistentDNS = newValue } }
  }

  open override var cookiePartitionIdentifier: String? {
    get { request.cookiePartitionIdentifier }
    set { change { $0.cookiePartitionIdentifier = newValue } }
  }

  open override var httpMethod: String {
    get { request.httpMethod ?? "GET" }
    set { change { $0.httpMethod = newValue } }
  }

  open override var allHTTPHeaderFields: [String: String]? {
    get { request.allHTTPHeaderFields }
    set { change { $0.allHTTPHeaderFields = newValue } }
  }

  /// Replaces a header field; nil removes it.
  open func setValue(_ value: String?, forHTTPHeaderField field: String) {
    change { $0.setValue(value, forHTTPHeaderField: field) }
  }

  /// Appends to a header field, after a comma when it already has a value.
  open func addValue(_ value: String, forHTTPHeaderField field: String) {
    change { $0.addValue(value, forHTTPHeaderField: field) }
  }

  open override var httpBody: Data? {
    get { request.httpBody }
    set { change { $0.httpBody = newValue } }
  }

  open override var httpBodyStream: InputStream? {
    get { request.httpBodyStream }
    set { change { $0.httpBodyStream = newValue } }
  }

  open override var httpShouldHandleCookies: Bool {
    get { request.httpShouldHandleCookies }
    set { change { $0.httpShouldHandleCookies = newValue } }
  }

  open override var httpShouldUsePipelining: Bool {
    get { request.httpShouldUsePipelining }
    set { change { $0.httpShouldUsePipelining = newValue } }
  }
}

/// The name that early versions of Swift gave `NSMutableURLRequest`.
@available(*, deprecated, renamed: "NSMutableURLRequest")
public typealias MutableURLRequest = NSMutableURLRequest
