/// Is told of a load's messages on the wire as they pass: a program that shows what happens. Called on the load's loop,
/// which waits meanwhile; the metrics are those so far, to be read before the call returns.
package struct LoadObserver: Sendable {
  package enum Event: Sendable {
    /// The head of a request was handed to its connection.
    case requestWasSent
    /// The head of a response has come: an interim one, or the final one.
    case responseCame(HTTPURLResponse)
  }

  package let tell: @Sendable (Event, URLSessionTaskTransactionMetrics) -> Void

  package init(_ tell: @escaping @Sendable (Event, URLSessionTaskTransactionMetrics) -> Void) { self.tell = tell }
}
