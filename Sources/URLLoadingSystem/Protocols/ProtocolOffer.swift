import Foundation

/// A request while the loading system offers it to a class of protocols, and while it makes an object of that class.
struct ProtocolOffer: Sendable {
  /// nil for a load that has no task.
  let task: URLSessionTask?
  /// The request as the protocol gets it, before it is in its canonical form.
  let request: URLRequest

  /// The offer that the present thread makes.
  @TaskLocal static var current: ProtocolOffer?

  /// Whether `type` takes the request. On a thread of the protocols.
  func isAccepted(by type: URLProtocol.Type) -> Bool {
    if let task { type.canInit(with: task) } else { type.canInit(with: request) }
  }
}
