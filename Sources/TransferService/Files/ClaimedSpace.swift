import Synchronization

/// The bytes of the disk that running transfers and copies have still to write, for all threads that write files of transfers.
package final class ClaimedSpace: Sendable {
  private let reckoning = Mutex(SpaceReckoning())

  /// The claim of a copy, until it is released.
  struct CopyClaim: Sendable {
    fileprivate let number: Int
    fileprivate let space: ClaimedSpace

    /// - Parameter rest: Bytes that the copy has still to write.
    func wrote(rest: Int64) { space.reckoning.withLock { $0.wroteCopy(number, rest: rest) } }

    /// The copy is there, or is not made.
    func release() { space.reckoning.withLock { $0.releaseCopy(number) } }
  }

  /// See `SpaceReckoning.claim`.
  func claim(_ needed: Int64, for transfer: TransferID, free: Int64) -> SpaceReckoning.Shortage? {
    reckoning.withLock { $0.claim(needed, for: transfer, free: free) }
  }

  func wrote(_ transfer: TransferID, rest: Int64) { reckoning.withLock { $0.wrote(transfer, rest: rest) } }

  func release(_ transfer: TransferID) { reckoning.withLock { $0.release(transfer) } }

  /// Claims space for one more copy; nil where there is too little.
  ///
  /// - Parameters:
  ///   - free: Bytes that the file system has at this moment.
  ///   - sparing: Bytes that copies leave free.
  func claimCopy(_ needed: Int64, free: Int64, sparing: Int64) -> CopyClaim? {
    reckoning.withLock { $0.claimCopy(needed, free: free, sparing: sparing) }.map { CopyClaim(number: $0, space: self) }
  }

  /// How many of the free bytes no transfer and no copy has claimed.
  func available(of free: Int64) -> Int64 { reckoning.withLock { $0.available(of: free) } }
}
