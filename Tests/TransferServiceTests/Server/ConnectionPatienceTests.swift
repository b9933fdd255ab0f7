import NIOCore
import Testing

@testable import TransferService

@Suite struct ConnectionPatienceTests {
  private let limits: ConnectionLimits
  private var patience: ConnectionPatience

  init() {
    var limits = ConnectionLimits()
    (limits.timeForHello, limits.timeForMessage) = (.seconds(10), .seconds(20))
    self.limits = limits
    patience = ConnectionPatience(limits: limits, openedAt: Self.at(0))
  }

  private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

  @Test func aConnectionHasAWhileToSayHello() {
    #expect(patience.deadline == Self.at(10))
    #expect(patience.fault(at: Self.at(9)) == nil)
    #expect(patience.fault(at: Self.at(10)) == .noHello(limits.timeForHello))
  }

  @Test mutating func oneThatHasSaidHelloMayBeSilent() {
    patience.saidHello()
    patience.received(endsMessage: true, begins: false, at: Self.at(1))
    #expect(patience.deadline == nil && patience.fault(at: Self.at(100_000)) == nil)
  }

  @Test mutating func aMessageThatHasBegunHasToEnd() {
    patience.saidHello()
    patience.received(endsMessage: false, begins: true, at: Self.at(100))
    // Bytes that do not end it are no excuse.
    patience.received(endsMessage: false, begins: true, at: Self.at(119))
    #expect(patience.deadline == Self.at(120))
    #expect(patience.fault(at: Self.at(119)) == nil)
    #expect(patience.fault(at: Self.at(120)) == .noEnd(limits.timeForMessage))
  }

  @Test mutating func eachMessageHasItsOwnTime() {
    patience.saidHello()
    patience.received(endsMessage: false, begins: true, at: Self.at(100))
    patience.received(endsMessage: true, begins: true, at: Self.at(110))
    #expect(patience.deadline == Self.at(130))
    patience.received(endsMessage: true, begins: false, at: Self.at(111))
    #expect(patience.deadline == nil)
  }

  @Test mutating func timeInWhichTheServiceDoesNotReadDoesNotCount() {
    patience.saidHello()
    patience.received(endsMessage: false, begins: true, at: Self.at(100))
    patience.paused()
    #expect(patience.deadline == nil)
    // Bytes that were read before.
    patience.received(endsMessage: true, begins: true, at: Self.at(101))
    #expect(patience.deadline == nil)
    patience.resumed(at: Self.at(1_000))
    #expect(patience.deadline == Self.at(1_020))
    patience.resumed(at: Self.at(1_010))
    #expect(patience.deadline == Self.at(1_020))
  }

  @Test mutating func halfAMessageBeforeHelloIsNoHello() {
    patience.received(endsMessage: false, begins: true, at: Self.at(1))
    #expect(patience.deadline == Self.at(10))
    #expect(patience.fault(at: Self.at(30)) == .noHello(limits.timeForHello))
  }
}
