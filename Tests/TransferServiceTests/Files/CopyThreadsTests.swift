import Dispatch
import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import Testing

@testable import TransferService

@Suite struct CopyThreadsTests {
  private static let place = CopyLine<CopyThreads.Job>.Place(app: "a")

  private func thread() -> UInt { UInt(pthread_self()) }

  @Test func aThreadThatHasEndedItsWorkTakesMore() async throws {
    let threads = CopyThreads(name: "t", limits: .init(ofMount: 2, ofApp: 2, all: 2), patience: 60)
    let used = Recorder<UInt>()
    for _ in 1...20 {
      let isDone = Gate()
      threads.run(at: Self.place) {
        used.record(thread())
        isDone.open()
      }
      try await isDone.wait(within: patience)
    }
    // A second one is started where the first has not begun to wait yet; no more may run.
    #expect(Set(used.all).count <= 2)
  }

  /// Both have waited, and each of them takes one.
  @Test func piecesOfWorkThatComeTogetherRunBesideEachOther() async throws {
    let threads = CopyThreads(name: "t", limits: .init(ofMount: 2, ofApp: 2, all: 2), patience: 60)
    for _ in 1...20 {
      let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let isDone = Gate()
      threads.run(at: Self.place) {
        first.signal()
        second.wait()
        isDone.open()
      }
      threads.run(at: Self.place) {
        first.wait()
        second.signal()
      }
      try await isDone.wait(within: patience)
    }
  }

  /// Work may have files open.
  @Test func aThreadThatWaitsKeepsNothingOfItsWork() async throws {
    final class Content: Sendable {
      let end: Gate
      init(_ end: Gate) { self.end = end }
      deinit { end.open() }
    }
    let threads = CopyThreads(name: "t", patience: 3_600)
    let end = Gate()
    let content = Content(end)
    threads.run(at: Self.place) { [content] in withExtendedLifetime(content) {} }
    _ = consume content
    try await end.wait(within: patience)
  }

  /// The machine has no more threads for a moment.
  @Test func aThreadThatCouldNotBeStartedIsNotCountedOn() async throws {
    let isRefused = Mutex(true)
    let threads = CopyThreads(name: "copies-more", patience: 0.01, startPatience: .zero) { thread in
      if !isRefused.withLock({ $0 }) { thread.start() }
    } later: { _, _ in
    }
    let isDone = [Gate(), Gate(), Gate()]
    threads.run(at: Self.place) { isDone[0].open() }
    isRefused.withLock { $0 = false }
    threads.run(at: Self.place) { isDone[1].open() }
    for gate in isDone[..<2] { try await gate.wait(within: patience) }
    try await end(of: "copies-more")
    threads.run(at: Self.place) { isDone[2].open() }
    try await isDone[2].wait(within: patience)
  }

  @Test func workStartsAThreadThoughAllPlacesAreGivenToThreadsThatCouldNotBeStarted() async throws {
    let isRefused = Mutex(true)
    let threads = CopyThreads(
      name: "t", limits: .init(ofMount: 2, ofApp: 2, all: 2), patience: 60, startPatience: .zero
    ) { thread in
      if !isRefused.withLock({ $0 }) { thread.start() }
    } later: { _, _ in
    }
    let isDone = [Gate(), Gate(), Gate()]
    for gate in isDone[..<2] { threads.run(at: Self.place) { gate.open() } }
    isRefused.withLock { $0 = false }
    threads.run(at: Self.place) { isDone[2].open() }
    for gate in isDone { try await gate.wait(within: patience) }
  }

  /// No further work comes.
  @Test func aThreadThatCouldNotBeStartedIsStartedLater() async throws {
    let isRefused = Mutex(true)
    let starts = Mutex(0)
    let looks = Recorder<CopyThreads.Job>()
    let threads = CopyThreads(name: "t", patience: 60, startPatience: .seconds(3_600)) { thread in
      starts.withLock { $0 += 1 }
      if !isRefused.withLock({ $0 }) { thread.start() }
    } later: { pause, look in
      #expect(pause == .seconds(3_600))
      looks.record(look)
    }
    let isDone = Gate()
    threads.run(at: Self.place) { isDone.open() }
    try #require(looks.all.count == 1)
    looks.all[0]()
    try #require(looks.all.count == 2)
    isRefused.withLock { $0 = false }
    looks.all[1]()
    try await isDone.wait(within: patience)
    for look in looks.all { look() }
    #expect(starts.withLock { $0 } == 3, "the last one runs")
  }

  /// Waits until there is no thread of that name.
  private func end(of name: String) async throws {
    try await eventually("its end") {
      let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
      return !tasks.contains {
        (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == "\(name)\n"
      }
    }
  }

  @Test func aThreadWithoutWorkEnds() async throws {
    let threads = CopyThreads(name: "copies-end", patience: 0.01)
    let isDone = Gate()
    threads.run(at: Self.place) { isDone.open() }
    try await isDone.wait(within: patience)
    try await end(of: "copies-end")
    // And a new one takes what comes later.
    let isDoneAgain = Gate()
    threads.run(at: Self.place) { isDoneAgain.open() }
    try await isDoneAgain.wait(within: patience)
  }

  /// Work that is called with a limit, and what becomes of it.
  private func call(
    _ threads: CopyThreads, app: String, within limit: Duration, into results: Recorder<String>,
    _ work: @escaping @Sendable () -> String
  ) {
    threads.call(at: .init(app: app), within: limit) { _ in
      work()
    } ended: { result in
      switch result {
      case .success(let text): results.record(text)
      case .failure(let error): results.record("\(error is BlockingCalls.Expired)")
      }
    }
  }

  @Test func workThatHangsIsNotWaitedForAndHoldsUpNoOtherApp() async throws {
    let threads = CopyThreads(name: "t", limits: .init(ofMount: 1, ofApp: 1, all: 2))
    let (results, late) = (Recorder<String>(), Recorder<String>())
    let isHeld = DispatchSemaphore(value: 0)
    call(threads, app: "a", within: .milliseconds(20), into: results) {
      isHeld.wait()
      return "too late"
    }
    #expect(try await results.next() == "true")
    // Its place is still taken. What waits for that is given up too, and does not run afterwards.
    call(threads, app: "a", within: .milliseconds(20), into: results) {
      late.record("ran")
      return "too late"
    }
    #expect(try await results.next() == "true")
    call(threads, app: "b", within: .seconds(3_600), into: results) { "b" }
    #expect(try await results.next() == "b")
    isHeld.signal()
    call(threads, app: "a", within: .seconds(3_600), into: results) { "a" }
    #expect(try await results.next() == "a")
    #expect(results.all == ["true", "true", "b", "a"] && late.all == [])
  }
}
