import Synchronization

/// How many loads go on in each share of the divided hosts of one session. Usable from any thread.
///
/// A server has its row by a hash of its host and port, in a table that never grows and needs no lock. Two servers with the
/// same row are counted together: then their loads are divided less evenly.
package struct HostLoads: Sendable {
  /// The loads of one share.
  package final class Counter: Sendable {
    private let loads = Atomic<Int>(0)

    var count: Int { loads.load(ordering: .relaxed) }

    /// A load that was given the share begins.
    package func loadBegan() { loads.add(1, ordering: .relaxed) }

    /// Such a load has ended.
    package func loadEnded() { loads.subtract(1, ordering: .relaxed) }
  }

  /// The shares of the servers with one hash.
  final class Row: Sendable {
    let counters: [Counter]
    private let turns = Atomic<UInt>(0)

    init(shares: Int) { counters = (0..<shares).map { _ in Counter() } }

    /// The index of the share that serves the next load which was given none.
    func nextTurn() -> Int {
      Int(turns.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(counters.count))
    }
  }

  private let rows: [Row]

  /// - Parameter shares: How many each host has.
  init(shares: Int) {
    rows = (0..<(1 << HostLoads.rowBits)).map { _ in Row(shares: shares) }
  }

  /// The row of a server.
  func row(ofHostWithHash hash: UInt64, port: Int) -> Row { rows[HostLoads.index(ofHostWithHash: hash, port: port)] }

  private static let rowBits = 5

  /// The high bits of a product, since the low bits of a host's hash differ most. The factor is 2⁶⁴ by the golden ratio.
  private static func index(ofHostWithHash hash: UInt64, port: Int) -> Int {
    Int(((hash ^ UInt64(truncatingIfNeeded: port)) &* 0x9e37_79b9_7f4a_7c15) >> (64 - rowBits))
  }
}
