import Testing

@testable import WebPage

/// How many connections the server of the web page has, and for how long.
@Suite struct WebConnectionTests {
  typealias Times = WebConnectionTimes

  private static let begin = ContinuousClock.now
  private static func at(_ seconds: Double) -> Times.Instant { begin + .seconds(seconds) }

  /// A connection with a request at the third second.
  private func asked(isStream: Bool = false) -> Times {
    var times = Times(openedAt: Self.begin)
    times.headArrived(at: Self.at(3))
    times.requestArrived(at: Self.at(3))
    times.responseBegan(isStream: isStream)
    return times
  }

  @Test func aConnectionHasToAskSoon() {
    var times = Times(openedAt: Self.begin)
    #expect(times.deadline == Self.at(10))
    // The body of the request has its own time, however often a part of it comes.
    times.headArrived(at: Self.at(9))
    #expect(times.deadline == Self.at(19))
  }

  @Test func aResponseHasToBeTakenAndTheNextRequestToCome() {
    var times = asked()
    #expect(times.deadline == Self.at(63))
    times.writeBegan(at: Self.at(4))
    times.responseEnded(at: Self.at(5))
    #expect(times.deadline == Self.at(65))
  }

  @Test func aRequestBehindAnotherHasItsTime() {
    var times = asked()
    times.headArrived(at: Self.at(4))
    times.responseEnded(at: Self.at(5))
    #expect(times.deadline == Self.at(14), "its body is on its way")
    times.requestArrived(at: Self.at(6))
    #expect(times.deadline == Self.at(66))
    times.responseEnded(at: Self.at(7))
    #expect(times.deadline == Self.at(67))
  }

  @Test func anEventStreamLastsWhileItsReaderReads() {
    var times = asked(isStream: true)
    #expect(times.deadline == nil)
    times.writeBegan(at: Self.at(100))
    times.writeBegan(at: Self.at(110))
    #expect(times.deadline == Self.at(160), "the first write waits")
    times.writeEnded(at: Self.at(120))
    #expect(times.deadline == Self.at(180))
    times.writeEnded(at: Self.at(121))
    #expect(times.deadline == nil)
    times.responseEnded(at: Self.at(200))
    #expect(times.deadline == Self.at(260))
  }

  @Test func thePageKeepsItsConnectionsWhenOthersComeInNumbers() {
    var table = WebConnectionTable<Int>()
    let maximum = WebConnectionTable<Int>.maximum
    #expect(table.opened(0) == nil)
    table.signedIn(0)
    for id in 1..<maximum { #expect(table.opened(id) == nil) }
    #expect(table.opened(1000) == 1, "the oldest that did not sign in")
    #expect(table.opened(1001) == 2)
    #expect(table.count == maximum)
    table.closed(1001)
    #expect(table.opened(1002) == nil)
  }

  @Test func whereAllHaveSignedInTheNewOneIsClosed() {
    var table = WebConnectionTable<Int>()
    for id in 0..<WebConnectionTable<Int>.maximum {
      #expect(table.opened(id) == nil)
      table.signedIn(id)
    }
    #expect(table.opened(1000) == 1000)
    table.signedIn(1000)
    #expect(table.count == WebConnectionTable<Int>.maximum)
  }
}
