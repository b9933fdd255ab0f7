import Foundation

extension OperationQueue: DeliveryTarget {
  func run(_ block: @escaping @Sendable () -> Void) { addDelivery(block) }

  var hasOtherWork: Bool { operationCount > 1 }
}
