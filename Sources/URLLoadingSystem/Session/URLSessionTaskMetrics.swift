import Foundation

/// A record of a task's work on the network, with its times.
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: one constant of a Sendable type.
  private let contents: Contents

  private struct Contents: Sendable {
    var transactions: [URLSessionTaskTransactionMetrics] = []
    var interval = DateInterval()
    var redirects = 0
  }

  /// Metrics of a task that did these transactions, in order, as their records are now.
  package convenience init(transactions: [TransactionRecord], taskInterval: DateInterval) {
    // A redirect that was followed is one that another transaction comes after.
    let redirects = transactions.dropLast().count { record in
      (record.response as? HTTPURLResponse).map { [301, 302, 303, 307, 308].contains($0.statusCode) } ?? false
    }
    self.init(
      transactionMetrics: transactions.map(URLSessionTaskTransactionMetrics.init), taskInterval: taskInterval,
      redirectCount: redirects)
  }

  package init(transactionMetrics: [URLSessionTaskTransactionMetrics], taskInterval: DateInterval, redirectCount: Int) {
    contents = Contents(transactions: transactionMetrics, interval: taskInterval, redirects: redirectCount)
  }

  /// Metrics of nothing: for subclasses that stand in for metrics in an app's tests.
  @available(*, deprecated, message: "Metrics come from tasks")
  public override init() { contents = Contents() }

  /// As `init()`.
  @available(*, deprecated, message: "Metrics come from tasks")
  open class func new() -> URLSessionTaskMetrics { URLSessionTaskMetrics() }

  /// One entry for each request and its response, redirects and validations of cached responses included, in order.
  open var transactionMetrics: [URLSessionTaskTransactionMetrics] { contents.transactions }

  /// From when the task was made to just before it was complete.
  open var taskInterval: DateInterval { contents.interval }

  /// How many redirects were followed.
  open var redirectCount: Int { contents.redirects }

  open override var description: String {
    "<\(type(of: self)): \(contents.transactions.count) transactions, \(contents.redirects) redirects, "
      + "\(contents.interval.duration) s>"
  }
}

extension URLSessionTaskMetrics {
  /// The origin of a response: the network or a store.
  public enum ResourceFetchType: Int, Sendable {
    /// Not known: nothing was fetched.
    case unknown = 0
    /// The network.
    case networkLoad = 1
    /// Pushed by the server before it was asked for. No longer used.
    case serverPush = 2
    /// The cache of the session.
    case localCache = 3
  }

  /// How a name was resolved.
  public enum DomainResolutionProtocol: Int, Sendable {
    /// Not known, or not by the DNS.
    case unknown = 0
    /// DNS over UDP.
    case udp = 1
    /// DNS over TCP.
    case tcp = 2
    /// DNS over TLS (RFC 7858).
    case tls = 3
    /// DNS over HTTPS (RFC 8484). No resolver of Linux says so.
    case https = 4
  }
}
