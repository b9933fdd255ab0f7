/// What a network does to the datagrams between two ends. A value: chance follows from a seed.
package struct DatagramCourse: Sendable {
  package enum Direction: Sendable { case toServer, toClient }

  package struct Delivery: Equatable, Sendable {
    package var bytes: [UInt8]
    package var milliseconds: Int

    package init(bytes: [UInt8], milliseconds: Int) {
      self.bytes = bytes
      self.milliseconds = milliseconds
    }
  }

  /// Shares of all datagrams, 0 to 1, that are lost, come twice, are overtaken by later ones, or have a bit changed.
  package var loss = 0.0
  package var duplication = 0.0
  package var reordering = 0.0
  package var corruption = 0.0
  /// How long each takes.
  package var milliseconds = 0
  /// How many are lost at the beginning of each direction.
  package var firstLost: (toServer: Int, toClient: Int) = (0, 0)
  private var generator: SeededGenerator

  /// The longest wait of one that is overtaken.
  private static let longestDetour = 20

  package init(seed: UInt64 = 1) { generator = SeededGenerator(seed: seed) }

  /// The ways on which a datagram arrives; none where it is lost.
  package mutating func deliveries(of bytes: [UInt8], _ direction: Direction) -> [Delivery] {
    if isFirst(direction) || isOne(of: loss) { return [] }
    return (0..<(isOne(of: duplication) ? 2 : 1)).map { _ in
      var delivery = Delivery(bytes: bytes, milliseconds: milliseconds)
      if isOne(of: reordering) {
        delivery.milliseconds += Int.random(in: 1...DatagramCourse.longestDetour, using: &generator)
      }
      if isOne(of: corruption), let index = bytes.indices.randomElement(using: &generator) {
        delivery.bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      }
      return delivery
    }
  }

  private mutating func isFirst(_ direction: Direction) -> Bool {
    let left = direction == .toServer ? firstLost.toServer : firstLost.toClient
    guard left > 0 else { return false }
    if direction == .toServer { firstLost.toServer -= 1 } else { firstLost.toClient -= 1 }
    return true
  }

  private mutating func isOne(of share: Double) -> Bool {
    share > 0 && Double.random(in: 0..<1, using: &generator) < share
  }
}
