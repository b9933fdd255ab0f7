import Foundation
import TransferProtocol

extension TransferDescription {
  private typealias Property = CarriedProperty<TransferDescription, TaskState>

  /// The values of a task that the app sets besides its request.
  private static let properties: [Property] = [
    .same(\.taskDescription, \.taskDescription),
    .same(\.earliestBeginDate, \.earliestBeginDate),
    .required(\.priority, \.priority),
    .required(\.countOfBytesClientExpectsToSend, \.countOfBytesClientExpectsToSend),
    .required(\.countOfBytesClientExpectsToReceive, \.countOfBytesClientExpectsToReceive),
    .same(\.bytesPerSecond, \.transferBandwidthLimit),
    .bandwidthHours, .expectation, .retry,
  ]

  mutating func encode(_ state: TaskState) { Property.encode(state, into: &self, TransferDescription.properties) }

  func decode(into state: inout TaskState) { Property.decode(self, into: &state, TransferDescription.properties) }
}

extension CarriedProperty<TransferDescription, TaskState> {
  fileprivate static var bandwidthHours: Self {
    Self(
      encode: { $1.hourlyLimits = $0.transferBandwidthHours.isEmpty ? nil : $0.transferBandwidthHours.limits },
      decode: { $1.transferBandwidthHours = [TransferBandwidthHours]($0.hourlyLimits) })
  }

  fileprivate static var expectation: Self {
    Self(
      encode: { $1.expectation = $0.expectedContent?.description },
      decode: { $1.expectedContent = $0.expectation.flatMap { ExpectedContent($0) } })
  }

  fileprivate static var retry: Self {
    Self(
      encode: { $1.retry = $0.transferRetryPolicy?.description },
      decode: { $1.transferRetryPolicy = $0.retry.map { TransferRetryPolicy($0) } })
  }
}
