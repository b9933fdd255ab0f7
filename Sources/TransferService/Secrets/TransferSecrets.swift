import SystemServices

/// The secrets of transfers that are not over, encoded, as far as this life of the service knows them. The queue has them
/// sealed or not at all.
struct TransferSecrets {
  private struct Entry {
    let secrets: SecretBytes
    var isSealed: Bool
  }

  private var entries: [TransferID: Entry] = [:]

  subscript(transfer: TransferID) -> SecretBytes? { entries[transfer]?.secrets }

  /// - Parameter isSealed: Whether the queue has them.
  mutating func keep(_ secrets: SecretBytes, of transfer: TransferID, isSealed: Bool) {
    entries[transfer] = Entry(secrets: secrets, isSealed: isSealed)
  }

  mutating func forget(_ transfer: TransferID) { entries[transfer] = nil }

  /// Those that the queue does not have.
  var unsealed: [(transfer: TransferID, secrets: SecretBytes)] {
    entries.compactMap { $1.isSealed ? nil : ($0, $1.secrets) }
  }

  mutating func isSealed(_ transfer: TransferID) { entries[transfer]?.isSealed = true }
}
