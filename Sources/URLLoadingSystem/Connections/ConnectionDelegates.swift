/// The delegate of a connection, seen through each of its protocols.
@available(*, deprecated)
struct ConnectionDelegates: @unchecked Sendable {
  // Sendable by hand: apps pass any object, and it is called on the run loop or queue that they choose.

  /// Kept also where it conforms to none of the protocols.
  private let object: Any?
  let delegate: (any NSURLConnectionDelegate)?
  let data: (any NSURLConnectionDataDelegate)?
  let download: (any NSURLConnectionDownloadDelegate)?

  init(_ object: Any?) {
    self.object = object
    delegate = object as? any NSURLConnectionDelegate
    data = object as? any NSURLConnectionDataDelegate
    download = object as? any NSURLConnectionDownloadDelegate
  }
}
