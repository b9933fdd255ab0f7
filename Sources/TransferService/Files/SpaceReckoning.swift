/// The bytes of the disk that running transfers have still to write, by what servers have announced, and those of copies that are
/// being made. A file that is being written has its space only bit by bit, so the free space alone would be given to each
/// transfer anew. A value.
package struct SpaceReckoning: Sendable, Equatable {
  private var claims: [TransferID: Int64] = [:]
  /// By numbers of their own.
  private var copies: [Int: Int64] = [:]
  private var lastCopy = 0

  /// There is not enough space for one more.
  package struct Shortage: Error, Sendable, Equatable {
    package let needed: Int64
    /// Bytes that are free and belong to no other transfer and no copy.
    package let available: Int64
  }

  package init() {}

  /// Claims space for a transfer, in place of its earlier claim. An earlier one stays where there is too little.
  ///
  /// - Parameters:
  ///   - needed: Bytes that it has still to write.
  ///   - free: Bytes that the file system has at this moment.
  /// - Returns: nil where there is enough.
  package mutating func claim(_ needed: Int64, for transfer: TransferID, free: Int64) -> Shortage? {
    let available = self.available(of: free, for: transfer)
    guard needed <= available else { return Shortage(needed: needed, available: available) }
    claims[transfer] = max(0, needed)
    return nil
  }

  /// Some of the bytes are in the file: the file system no longer counts them as free.
  ///
  /// - Parameter rest: Bytes that it has still to write.
  package mutating func wrote(_ transfer: TransferID, rest: Int64) {
    guard let claim = claims[transfer] else { return }
    claims[transfer] = min(claim, max(0, rest))
  }

  /// It runs no more.
  package mutating func release(_ transfer: TransferID) { claims[transfer] = nil }

  /// Claims space for one more copy.
  ///
  /// - Parameter sparing: Bytes that copies leave free.
  /// - Returns: The number of the claim; nil where there is too little.
  mutating func claimCopy(_ needed: Int64, free: Int64, sparing: Int64) -> Int? {
    guard needed <= available(of: free) - max(0, sparing) else { return nil }
    lastCopy += 1
    copies[lastCopy] = max(0, needed)
    return lastCopy
  }

  /// - Parameter rest: Bytes that the copy has still to write.
  mutating func wroteCopy(_ number: Int, rest: Int64) {
    guard let claim = copies[number] else { return }
    copies[number] = min(claim, max(0, rest))
  }

  /// The copy is there, or is not made.
  mutating func releaseCopy(_ number: Int) { copies[number] = nil }

  /// Bytes that are free and belong to no copy, and no transfer but this one.
  package func available(of free: Int64, for transfer: TransferID? = nil) -> Int64 {
    let left = copies.values.reduce(max(0, free)) { $0 - min($0, $1) }
    return claims.reduce(left) { left, claim in claim.key == transfer ? left : left - min(left, claim.value) }
  }
}
