import Synchronization
import SystemServices

/// The complete files of which apps have names of their own, under leases: no app can change one before the service has a copy
/// of it. May be used from any thread.
final class LeasedDeliveries: Sendable {
  /// One of them. It is settled when its complete file has been replaced or given up.
  final class Leased: Sendable {
    let lease: FileLease
    private let isSettled = Mutex(false)
    private let isPlanned = Atomic<Bool>(false)
    private let isCopied = Atomic<Bool>(false)

    fileprivate init(_ lease: FileLease) { self.lease = lease }

    /// Does the last thing that is to be done with the file, unless that was done.
    ///
    /// - Returns: whether it was done now.
    @discardableResult
    func settle(_ work: () throws -> Void) rethrows -> Bool {
      try isSettled.withLock { isSettled in
        guard !isSettled else { return false }
        try work()
        isSettled = true
        return true
      }
    }

    /// Does something while it is not settled; nil where it is.
    func unlessSettled<Value>(_ work: () throws -> Value) rethrows -> Value? {
      try isSettled.withLock { try $0 ? nil : work() }
    }

    /// True the first time.
    func plan() -> Bool { !isPlanned.exchange(true, ordering: .relaxed) }

    /// Whether it is to be copied now: false where that has begun.
    func beginCopy() -> Bool { !isCopied.exchange(true, ordering: .acquiring) }

    /// It may begin again.
    func giveUpCopy() { isCopied.store(false, ordering: .releasing) }
  }

  private let watch: LeaseWatch
  private let table = Mutex<[TransferID: Leased]>([:])

  init(limit: Int = 64) { watch = LeaseWatch(limit: limit) }

  var count: Int { watch.count }

  subscript(transfer: TransferID) -> Leased? { table.withLock { $0[transfer] } }

  /// nil where the lease is refused.
  func take(_ file: SourceFile, of transfer: TransferID, disk: any DurableFileSystem) -> Leased? {
    guard let lease = watch.take(file, of: disk) else { return nil }
    let new = Leased(lease)
    let former = table.withLock { table in
      defer { table[transfer] = new }
      return table[transfer]
    }
    if let former { watch.release(former.lease) }
    return new
  }

  /// Calls once: when a process waits to write into the file, or after a while; nil: only then.
  func call(_ call: @escaping @Sendable () -> Void, for leased: Leased, after delay: Duration?) {
    watch.call(call, for: leased.lease, after: delay)
  }

  /// Those that wait to write go on.
  func release(_ leased: Leased, of transfer: TransferID) {
    leased.settle {}
    table.withLock { table in
      if table[transfer] === leased { table[transfer] = nil }
    }
    watch.release(leased.lease)
  }

  /// The service ends. The next one finds the marks.
  func releaseAll() {
    for (transfer, leased) in table.withLock({ $0 }) { release(leased, of: transfer) }
  }
}
