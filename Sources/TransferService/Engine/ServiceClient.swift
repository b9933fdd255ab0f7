import SystemServices
import TransferProtocol

/// A connected app as the engine sees it.
package protocol ServiceClient: AnyObject, Sendable {
  /// Unique as long as the service runs.
  var id: UInt64 { get }
  var peer: PeerIdentity { get }
  /// Whether what was sent before has mostly been read. While it is false, pushes that can be left out are.
  var canTakeMore: Bool { get }
  func send(_ message: ServiceMessage)
  /// The answer to a request waits for a disk that takes nothing at the moment, or for requests that go with it into one
  /// commit. Such a request does not keep further ones from being read.
  func postpone(_ request: UInt64)
  /// The open files that came with a request, for the one caller that asks first. nil when the request had none. Those that
  /// are not taken until the request is answered are closed.
  func takeFiles(of request: UInt64) -> PassedFiles?
  func close()
}

extension ServiceClient {
  package func takeFiles(of request: UInt64) -> PassedFiles? { nil }
}
