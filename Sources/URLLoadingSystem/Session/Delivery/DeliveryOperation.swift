import Foundation

/// An operation that runs calls of a lane. It can't be cancelled: an app that cancels all operations of its queue means its own,
/// and a lane whose operation never ran would run no other.
final class DeliveryOperation: Operation, @unchecked Sendable {
  // Sendable by hand: its superclass allows it, and it adds a constant.
  private let block: @Sendable () -> Void

  init(_ block: @escaping @Sendable () -> Void) {
    self.block = block
    super.init()
  }

  override func main() { block() }

  override func cancel() {}
}

extension OperationQueue {
  /// As `addOperation`, for calls that must not be lost.
  func addDelivery(_ block: @escaping @Sendable () -> Void) {
    let operation = DeliveryOperation(block)
    let quality = qualityOfService
    // The queue gives its own to blocks alone.
    if quality != .default { operation.qualityOfService = quality }
    addOperation(operation)
  }
}
