import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct TaskIdentifiersTests {
  private func identifiers(at seconds: TimeInterval) -> TaskIdentifiers {
    TaskIdentifiers { Date(timeIntervalSince1970: seconds) }
  }

  @Test func theServiceCountsOnOnceItWasAsked() {
    let identifiers = identifiers(at: 1e9)
    identifiers.raise(to: 7)
    #expect((0..<3).map { _ in identifiers.reserve() } == [7, 8, 9])
    // Attached again, to a service that has some of them.
    identifiers.raise(to: 9)
    #expect(identifiers.reserve() == 10)
  }

  @Test func processesThatDoNotWaitHaveBlocksOfTheirOwn() {
    let (first, second) = (identifiers(at: 1e9), identifiers(at: 1e9 + 1))
    let early = (0..<10_000).map { _ in first.reserve() }
    let late = (0..<10_000).map { _ in second.reserve() }
    #expect(Set(early + late).count == 20_000)
    #expect((early + late).sorted() == early + late, "identifiers grow")
    #expect(late.allSatisfy { $0 < 1 << 53 })
    // What the service counts on from is behind the block.
    first.raise(to: 12)
    #expect(first.reserve() == early[9_999] + 1)
  }

  @Test(arguments: [-1e12, 0, 1e300]) func aClockThatIsWrongIsNoMatter(_ seconds: TimeInterval) {
    let identifier = identifiers(at: seconds).reserve()
    #expect(identifier > 0 && identifier < 1 << 53)
  }
}
