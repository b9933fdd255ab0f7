import TransferProtocol

extension TransferDescription {
  private typealias Property = CarriedProperty<TransferDescription, TaskState>

  /// The values of a task that the app sets besides its request.
  private static var properties: [Property] {
    [
      .same(\.taskDescription, \.taskDescription),
      .same(\.earliestBeginDate, \.earliestBeginDate),
      .required(\.priority, \.priority),
      .required(\.countOfBytesClientExpectsToSend, \.countOfBytesClientExpectsToSend),
      .required(\.countOfBytesClientExpectsToReceive, \.countOfBytesClientExpectsToReceive),
    ]
  }

  mutating func encode(_ state: TaskState) { Property.encode(state, into: &self, TransferDescription.properties) }

  func decode(into state: inout TaskState) { Property.decode(self, into: &state, TransferDescription.properties) }
}
