/// How many sessions an app may have in the queue.
package struct SessionLimits: Sendable {
  /// Beyond so many, the oldest of those that have nothing to do are forgotten.
  package var usual: Int
  /// So many may there be that have something to do, each with options of no more than `longestOfMost` bytes. With longer ones
  /// there may be no more than `usual`.
  package var most: Int
  package var longestOfMost: Int

  package init(usual: Int = 256, most: Int = 10_000, longestOfMost: Int = 16 << 10) {
    self.usual = usual
    self.most = max(usual, most)
    self.longestOfMost = longestOfMost
  }

  static let none = SessionLimits(usual: .max)

  func most(withOptionsOf length: Int) -> Int { length > longestOfMost ? usual : most }
}
