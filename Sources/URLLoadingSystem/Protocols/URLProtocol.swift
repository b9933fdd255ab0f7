import Foundation

/// An app's own way of loading requests: a subclass takes the requests it wants, and answers them.
///
/// A session asks the classes of its configuration's `protocolClasses`, in order, and the shared session those that
/// `registerClass(_:)` has registered, the latest first. The first class that accepts a request loads it: any scheme,
/// also http and https. Redirects are offered again. The built-in loaders come last. Background sessions and WebSocket
/// tasks ask no class.
///
/// The loading system makes one object for each request and calls its methods on one thread, which has a run loop.
/// The class methods are called on such a thread too; other loads go on when one of these methods blocks. The object
/// tells its `client` what comes of the request, from any thread.
///
/// Redirects that a server sends, cookies, credentials, compressed bodies and the rules of App Transport Security are
/// the protocol's own business: it gives the response that the app is to see.
open class URLProtocol: NSObject {
  private let loadedRequest: URLRequest
  private let stored: CachedURLResponse?
  private let receiver: (any URLProtocolClient)?
  private var loadedTask: URLSessionTask?

  /// The designated initialiser. Subclasses override it to prepare themselves; the loading system calls it.
  ///
  /// - Parameters:
  ///   - request: The request in its canonical form. Its body is in `httpBodyStream`, whatever form it had.
  ///   - cachedResponse: The stored response to the request, fresh or not; nil when there is none.
  ///   - client: The object to tell what comes of the request.
  public init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    loadedRequest = request
    stored = cachedResponse
    receiver = client
    loadedTask = ProtocolOffer.current?.task
  }

  /// As `init(request:cachedResponse:client:)`, for the request that `task` loads now.
  public convenience init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    self.init(request: task.currentRequest ?? URLRequest(), cachedResponse: cachedResponse, client: client)
    loadedTask = task
  }

  /// Makes an object for a load. Called by the loading system alone.
  ///
  /// Swift makes objects of a class that is known at run time by a required initialiser only. This one leads to the
  /// designated one, so that a subclass overrides that and inherits this.
  public required convenience init(_ start: Start) {
    self.init(request: start.request, cachedResponse: start.cachedResponse, client: start.client)
  }

  // MARK: The load

  /// The object to tell what comes of the request.
  open var client: (any URLProtocolClient)? { receiver }

  /// The request to load.
  open var request: URLRequest { loadedRequest }

  /// The stored response to the request; nil when there is none.
  open var cachedResponse: CachedURLResponse? { stored }

  /// The task that the request belongs to; nil for a load without one.
  open var task: URLSessionTask? { loadedTask }

  /// Begins to load. A subclass overrides it. The default fails the load with `URLError.unsupportedURL`.
  open func startLoading() {
    client?.urlProtocol(
      self,
      didFailWithError: ErrorMapping.make(
        .unsupportedURL, because: "\(type(of: self)) does not override startLoading()."))
  }

  /// Ends the load. Called once, when the load has ended or was cancelled, if `startLoading()` was called. Afterwards
  /// nothing that the client is told counts. A subclass overrides it; the default does nothing.
  open func stopLoading() {}

  // MARK: Which requests

  /// Whether this class loads `request`. A subclass overrides it; the default is false.
  open class func canInit(with request: URLRequest) -> Bool { false }

  /// Whether this class loads the request of `task`. It is asked before `canInit(with:)` for requests, which the default
  /// asks.
  open class func canInit(with task: URLSessionTask) -> Bool {
    if let offer = ProtocolOffer.current, offer.task === task { return canInit(with: offer.request) }
    return task.currentRequest.map { canInit(with: $0) } ?? false
  }

  /// The form in which `request` is loaded, and under which its response is stored. The same request must always give
  /// the same form. A subclass may override it; the default is `request`.
  open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Whether a response that is stored for `b` may stand for one to `a`. The default compares the canonical forms. Where
  /// it is false for a request and its canonical form, the object is given no stored response.
  open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool {
    let (a, b) = (canonicalRequest(for: a), canonicalRequest(for: b))
    return a.url == b.url && a.httpMethod == b.httpMethod
  }

  // MARK: Properties of requests

  /// A value that was set on `request`; nil when none was.
  open class func property(forKey key: String, in request: URLRequest) -> Any? { request.protocolProperty(forKey: key) }

  /// Sets a value on `request`, which its copies keep: a protocol recognises by it the requests that it sends itself.
  /// Archives lose it.
  open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
    request.change { $0.setProtocolProperty(value, forKey: key) }
  }

  /// Removes a value from `request`.
  open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
    request.change { $0.setProtocolProperty(nil, forKey: key) }
  }

  // MARK: Registering

  /// Registers a subclass with the shared session, `NSURLConnection` and `NSURLDownload`. Of several the latest is asked
  /// first; a class that is registered again becomes the latest.
  ///
  /// - Returns: False, and nothing is changed, when `protocolClass` is no subclass of `URLProtocol`.
  @discardableResult
  open class func registerClass(_ protocolClass: AnyClass) -> Bool { ProtocolRegistry.register(protocolClass) }

  /// Takes a subclass off the list. Loads that it has taken go on.
  open class func unregisterClass(_ protocolClass: AnyClass) { ProtocolRegistry.unregister(protocolClass) }
}

extension URLProtocol {
  /// As `setProperty(_:forKey:in:)` for an `NSMutableURLRequest`.
  public static func setProperty(_ value: Any, forKey key: String, in request: inout URLRequest) {
    request.setProtocolProperty(value, forKey: key)
  }

  /// As `removeProperty(forKey:in:)` for an `NSMutableURLRequest`.
  public static func removeProperty(forKey key: String, in request: inout URLRequest) {
    request.setProtocolProperty(nil, forKey: key)
  }
}
