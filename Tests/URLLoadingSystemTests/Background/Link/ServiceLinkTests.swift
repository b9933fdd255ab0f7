import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct ServiceLinkTests {
  /// A link whose first connection is being made.
  private func connecting() -> ServiceLink {
    var link = ServiceLink()
    #expect(link.handle(.start) == .connect(connection: 1, .serveTasks))
    return link
  }

  /// Fails with the same failure until the link gives up; how often that was, and why.
  private func failures(
    _ failure: ServiceLink.Failure, in link: inout ServiceLink, limit: Int = 40
  ) -> (count: Int, end: ServiceLink.Action?) {
    for count in 1...limit {
      switch link.handle(.failed(connection: link.connection, failure)) {
      case .pause: _ = link.handle(.pauseEnded)
      case let end: return (count, end)
      }
    }
    return (limit, nil)
  }

  @Test func aConnectionThatEndsIsMadeAgain() {
    var link = connecting()
    #expect(link.handle(.attached(connection: 1)) == .nothing)
    #expect(link.handle(.closed(connection: 1)) == .connect(connection: 2, .serveTasks))
    #expect(link.handle(.attached(connection: 2)) == .nothing)
  }

  @Test func aConnectionThatEndsWhileItIsAttachedIsMadeAgain() {
    var link = connecting()
    #expect(link.handle(.closed(connection: 1)) == .nothing)
    #expect(link.handle(.attached(connection: 1)) == .connect(connection: 2, .serveTasks))
    #expect(link.handle(.closed(connection: 2)) == .nothing)
    #expect(link.handle(.failed(connection: 2, .temporary)) == .pause(milliseconds: 100))
  }

  @Test func whatIsToldOfAnEarlierConnectionHasNoEffect() {
    var link = connecting()
    _ = link.handle(.attached(connection: 1))
    _ = link.handle(.closed(connection: 1))
    for event: ServiceLink.Event in [
      .closed(connection: 1), .attached(connection: 1), .failed(connection: 1, .refused("")),
    ] {
      #expect(link.handle(event) == .nothing)
    }
    #expect(link.handle(.attached(connection: 2)) == .nothing)
    #expect(link.handle(.wasUseful(connection: 2)) == .nothing)
    #expect(link.handle(.closed(connection: 2)) == .connect(connection: 3, .serveTasks))
  }

  /// The app can't read an event that the service sends it over every connection.
  @Test(arguments: [false, true]) func pausesGrowBetweenConnectionsThatAreOfNoUse(endsEarly: Bool) {
    var link = connecting()
    var pauses: [Int64] = []
    for _ in 0..<10 {
      let events: [ServiceLink.Event] = [.attached(connection: link.connection), .closed(connection: link.connection)]
      let actions = (endsEarly ? events.reversed() : events).map { link.handle($0) }
      guard case .pause(let pause) = actions.last else {
        #expect(actions == [.nothing, .connect(connection: 2, .serveTasks)])
        continue
      }
      pauses.append(pause)
      #expect(link.handle(.pauseEnded) == .connect(connection: link.connection, .serveTasks))
    }
    #expect(pauses == [100, 200, 400, 800, 1_600, 3_200, 3_200, 3_200, 3_200])
    // One that was of use begins the count anew; an earlier one changes nothing.
    _ = link.handle(.attached(connection: link.connection))
    _ = link.handle(.wasUseful(connection: link.connection - 1))
    #expect(link.handle(.closed(connection: link.connection)) == .pause(milliseconds: 3_200))
    _ = link.handle(.pauseEnded)
    _ = link.handle(.attached(connection: link.connection))
    #expect(link.handle(.wasUseful(connection: link.connection)) == .nothing)
    let next = link.connection + 1
    #expect(link.handle(.closed(connection: link.connection)) == .connect(connection: next, .serveTasks))
  }

  /// Every connection is attached, and none answers the invalidation.
  @Test func anInvalidationThatIsNotAnsweredIsGivenUp() {
    var link = connecting()
    _ = link.handle(.invalidate)
    var count = 0
    while !link.isEnded, count < 40 {
      count += 1
      #expect(link.handle(.attached(connection: link.connection)) == .tellInvalidation)
      if case .pause = link.handle(.closed(connection: link.connection)) { _ = link.handle(.pauseEnded) }
    }
    #expect(link.isEnded && count == 15)
  }

  @Test func pausesGrowToThreeSeconds() {
    var link = connecting()
    var pauses: [Int64] = []
    for _ in 0..<8 {
      guard case .pause(let pause) = link.handle(.failed(connection: link.connection, .temporary)) else { continue }
      pauses.append(pause)
      _ = link.handle(.pauseEnded)
    }
    #expect(pauses == [100, 200, 400, 800, 1_600, 3_200, 3_200, 3_200])
  }

  static let ends: [(failure: ServiceLink.Failure, count: Int, end: ServiceLink.Action?)] = [
    (.refused("no"), 1, .fail(.disconnected("no"))),
    (.heldElsewhere("held"), 6, .fail(.heldElsewhere("held"))),
    (.heldElsewhere("held", forEvents: true), 33, .fail(.heldElsewhere("held"))),
    (.unavailable("away", hasTasks: false), 3, .fail(.disconnected("away"))),
    (.unavailable("away", hasTasks: true), 40, nil),
    // It was there a moment ago, and left no queue.
    (.unavailable("away", hasTasks: false, isExpected: true), 193, .fail(.disconnected("away"))),
    (.unavailable("away", hasTasks: true, isExpected: true), 40, nil),
    (.temporary, 40, nil),
  ]

  @Test(arguments: ends.indices) func givesUpOnlyWhereThereIsNoUseInTryingAgain(_ index: Int) {
    let row = Self.ends[index]
    var link = connecting()
    let result = failures(row.failure, in: &link, limit: row.end == nil ? 40 : 1_000)
    #expect(result.count == row.count && result.end == row.end && link.isEnded == (row.end != nil))
  }

  /// Tasks of an earlier process may be in the queue. New tasks are told after ten minutes.
  @Test func aServiceWithAQueueIsWaitedForWithoutLimit() {
    var link = connecting()
    let failure = ServiceLink.Failure.unavailable("away", hasTasks: false, hasQueue: true, isExpected: true)
    var pauses: Int64 = 0
    while case .pause(let pause) = link.handle(.failed(connection: link.connection, failure)) {
      pauses += pause
      _ = link.handle(.pauseEnded)
    }
    #expect((600_000...620_000).contains(pauses), "\(pauses) ms")
    var longPauses: [Int64] = []
    for _ in 0..<5 {
      _ = link.handle(.pauseEnded)
      let action = link.handle(.failed(connection: link.connection, failure))
      guard case .pauseWithoutService(let pause, "away") = action else {
        Issue.record("\(action)")
        return
      }
      longPauses.append(pause)
    }
    #expect(longPauses == [12_800, 25_600, 25_600, 25_600, 25_600] && !link.isEnded)
    _ = link.handle(.pauseEnded)
    #expect(link.handle(.attached(connection: link.connection)) == .nothing && !link.isEnded)
  }

  @Test func failuresAreCountedAnewAfterAnAttachment() {
    var link = connecting()
    for _ in 0..<10 {
      _ = link.handle(.failed(connection: link.connection, .unavailable("", hasTasks: false)))
      _ = link.handle(.pauseEnded)
      _ = link.handle(.attached(connection: link.connection))
      _ = link.handle(.wasUseful(connection: link.connection))
      _ = link.handle(.closed(connection: link.connection))
    }
    #expect(!link.isEnded)
  }

  @Test func anInvalidationIsToldOverThePresentConnectionOrTheNext() {
    var link = connecting()
    #expect(link.handle(.invalidate) == .nothing)
    #expect(link.handle(.attached(connection: 1)) == .tellInvalidation)
    // It was not answered.
    #expect(link.handle(.closed(connection: 1)) == .connect(connection: 2, .invalidateSession))
    #expect(link.handle(.attached(connection: 2)) == .tellInvalidation)
    #expect(link.handle(.invalidated) == .release)

    var attached = connecting()
    _ = attached.handle(.attached(connection: 1))
    #expect(attached.handle(.invalidate) == .tellInvalidation)
  }

  @Test func anInvalidationIsGivenUpAfterHalfAMinute() {
    var link = connecting()
    _ = link.handle(.invalidate)
    let result = failures(.unavailable("", hasTasks: false), in: &link)
    #expect(result.count == 15 && result.end == .release)
  }

  @Test(arguments: [ServiceLink.Event.end, .invalidated]) func nothingHappensAfterTheEnd(_ end: ServiceLink.Event) {
    var link = connecting()
    #expect(link.handle(end) == .release)
    for event: ServiceLink.Event in [
      .start, .attached(connection: 1), .closed(connection: 1), .failed(connection: 1, .temporary), .pauseEnded,
    ] {
      #expect(link.handle(event) == .nothing)
    }
    #expect(link.handle(.invalidate) == .release)
  }

  /// Whatever happens in whatever order: one connection at a time is being made, its number is new, and a link that has
  /// not ended has a connection, makes one or pauses.
  @Test(arguments: 0..<200) func keepsOneConnection(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var link = ServiceLink()
    var numbers: Set<Int> = []
    var isPausing = false
    var isMaking = false
    var isAttached = false
    var hasEnded = false
    func check(_ action: ServiceLink.Action) {
      switch action {
      case .connect(let number, _):
        #expect(!isMaking && !hasEnded && numbers.insert(number).inserted)
        (isMaking, isPausing, isAttached) = (true, false, false)
      case .pause, .pauseWithoutService:
        #expect(!isPausing && !hasEnded)
        (isMaking, isPausing, isAttached) = (false, true, false)
      case .fail, .release: (isMaking, isPausing, isAttached, hasEnded) = (false, false, false, true)
      case .tellInvalidation: #expect(isAttached && !hasEnded)
      case .nothing: break
      }
      #expect(hasEnded || isMaking || isPausing || isAttached)
      #expect(link.isEnded == hasEnded)
    }
    check(link.handle(.start))
    for _ in 0..<100 where !hasEnded {
      let number =
        Bool.random(using: &generator) ? link.connection : Int.random(in: 0...link.connection, using: &generator)
      switch Int.random(in: 0..<40, using: &generator) {
      case 0..<12 where isMaking:
        if number == link.connection { (isMaking, isAttached) = (false, true) }
        check(link.handle(.attached(connection: number)))
      case 12..<20 where isMaking:
        check(link.handle(.failed(connection: number, .unavailable("", hasTasks: true))))
      case 20..<30 where isMaking || isAttached:
        if number == link.connection { isAttached = false }
        let wasMaking = isMaking
        let action = link.handle(.closed(connection: number))
        check(action)
        if wasMaking { #expect(action == .nothing) }
      case 30..<38 where isPausing:
        isPausing = false
        check(link.handle(.pauseEnded))
      case 38: check(link.handle(.invalidate))
      case 39 where seed.isMultiple(of: 7): check(link.handle(.end))
      default: break
      }
    }
  }
}
