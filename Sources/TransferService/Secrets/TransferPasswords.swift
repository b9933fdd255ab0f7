import SystemServices

/// The passwords of transfers that are not over, as far as this life of the service knows them. The queue has them sealed
/// or not at all.
struct TransferPasswords {
  private struct Entry {
    let password: SecretBytes
    var isSealed: Bool
  }

  private var entries: [TransferID: Entry] = [:]

  subscript(transfer: TransferID) -> SecretBytes? { entries[transfer]?.password }

  /// - Parameter isSealed: Whether the queue has it.
  mutating func keep(_ password: SecretBytes, of transfer: TransferID, isSealed: Bool) {
    entries[transfer] = Entry(password: password, isSealed: isSealed)
  }

  mutating func forget(_ transfer: TransferID) { entries[transfer] = nil }

  /// Those that the queue does not have.
  var unsealed: [(transfer: TransferID, password: SecretBytes)] {
    entries.compactMap { $1.isSealed ? nil : ($0, $1.password) }
  }

  mutating func isSealed(_ transfer: TransferID) { entries[transfer]?.isSealed = true }
}
