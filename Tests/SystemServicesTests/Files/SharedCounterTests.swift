import Foundation
import Testing

@testable import SystemServices

/// Two counters on one file are what two processes have.
@Suite final class SharedCounterTests {
  let folder = NSTemporaryDirectory() + "counter-" + UUID().uuidString
  var path: String { folder + "/changes" }

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  @Test func everyProcessSeesTheSameNumber() throws {
    let (one, other) = (try SharedCounter(path: path), try SharedCounter(path: path))
    #expect(one.value == 0)
    let begun = try one.increment()
    #expect(begun.old == 0 && begun.new == one.value)
    let first = try #require(one.value)
    #expect(first != 0 && other.value == first)
    #expect(try other.increment() == SharedCounter.Count(old: first, new: first + 1))
    #expect(one.value == first + 1)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  /// A page of memory that is cut off would end the process with SIGBUS.
  @Test func aFileThatIsEmptiedIsAnotherNumber() throws {
    let counter = try SharedCounter(path: path)
    try counter.increment()
    let before = counter.value
    try #require(truncate(path, 0) == 0)
    #expect(counter.value == 0)
    try counter.increment()
    #expect(counter.value != before && counter.value != 0 && counter.value != nil)
  }

  @Test func aFileThatIsRemovedHasNoNumber() throws {
    let counter = try SharedCounter(path: path)
    try counter.increment()
    try FileManager.default.removeItem(atPath: path)
    #expect(counter.value == nil)
    #expect(try SharedCounter(path: path).value == 0)
  }

  @Test func noCountIsLost() async throws {
    let counters = [try SharedCounter(path: path), try SharedCounter(path: path)]
    let first = try counters[0].increment()
    #expect(first.old == 0)
    let start = try #require(counters[0].value)
    DispatchQueue.concurrentPerform(iterations: 8) { number in
      for _ in 0..<50 { _ = try? counters[number % 2].increment() }
    }
    #expect(counters[0].value == start + 400)
  }
}
