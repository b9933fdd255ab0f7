import Testing

@testable import HTTPTransport

@Suite struct SendProgressTests {
  /// One look: what the kernel counts, how many bytes the request has given, whether some of them are queued, and
  /// whether that is progress.
  struct Look {
    var acknowledged: UInt64
    var outstanding: UInt64
    var given: Int64
    var isQueued = false
    var moves: Bool
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let looks: [Look]
    init(_ name: String, _ looks: Look...) { (testDescription, self.looks) = (name, looks) }
  }

  static let rows = [
    Row(
      "bytes that are given to the connection",
      Look(acknowledged: 500, outstanding: 100, given: 100, moves: true),
      Look(acknowledged: 500, outstanding: 200, given: 200, moves: true)),
    Row(
      "a large piece that the kernel takes bit by bit",
      Look(acknowledged: 500, outstanding: 100, given: 900, isQueued: true, moves: true),
      Look(acknowledged: 550, outstanding: 100, given: 900, isQueued: true, moves: true),
      Look(acknowledged: 550, outstanding: 100, given: 900, isQueued: true, moves: false),
      Look(acknowledged: 600, outstanding: 100, given: 900, isQueued: true, moves: true)),
    Row(
      "the last bytes, which the kernel has all taken",
      Look(acknowledged: 500, outstanding: 300, given: 300, moves: true),
      Look(acknowledged: 600, outstanding: 200, given: 300, moves: true),
      Look(acknowledged: 799, outstanding: 1, given: 300, moves: true),
      Look(acknowledged: 800, outstanding: 0, given: 300, moves: true),
      Look(acknowledged: 800, outstanding: 0, given: 300, moves: false)),
    Row(
      "the last bytes, queued at one look and taken at the next",
      Look(acknowledged: 500, outstanding: 100, given: 300, isQueued: true, moves: true),
      Look(acknowledged: 600, outstanding: 200, given: 300, moves: true),
      Look(acknowledged: 700, outstanding: 100, given: 300, moves: true),
      Look(acknowledged: 700, outstanding: 100, given: 300, moves: false)),
    Row(
      "a peer that takes nothing",
      Look(acknowledged: 500, outstanding: 300, given: 300, moves: true),
      Look(acknowledged: 500, outstanding: 300, given: 300, moves: false),
      Look(acknowledged: 500, outstanding: 300, given: 300, moves: false)),
    Row(
      "the bytes of other streams, while this one waits for its window",
      Look(acknowledged: 500, outstanding: 100, given: 100, moves: true),
      Look(acknowledged: 700, outstanding: 400, given: 100, moves: true),
      Look(acknowledged: 900, outstanding: 400, given: 100, moves: false),
      Look(acknowledged: 1_100, outstanding: 400, given: 100, moves: false)),
    Row(
      "a request without bytes on a connection that had some",
      Look(acknowledged: 500, outstanding: 0, given: 0, moves: false),
      Look(acknowledged: 900, outstanding: 0, given: 0, moves: false)),
  ]

  @Test(arguments: rows) func bytesOfTheRequestThatMoveAreProgress(_ row: Row) {
    var progress = SendProgress()
    for (index, look) in row.looks.enumerated() {
      let sent = SentBytes(acknowledged: look.acknowledged, outstanding: look.outstanding)
      #expect(progress.look(sent, given: look.given, isQueued: look.isQueued) == look.moves, "look \(index)")
    }
  }
}
