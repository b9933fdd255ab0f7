import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct ProtocolThreadsTests {
  @Test func aStartThatBlocksLeavesOthersAThread() async throws {
    let threads = ProtocolThreads(limit: 8)
    let started = Recorder<Int>()
    let release = DispatchSemaphore(value: 0)
    for number in 0..<3 {
      threads.start { _ in
        started.record(number)
        release.wait()
      }
    }
    // Only a fourth thread can run this one.
    threads.start { _ in for _ in 0..<3 { release.signal() } }
    #expect(try await started.first(3).sorted() == [0, 1, 2])
  }

  @Test func startsAreInOrderAndWorkOfAThreadStaysOnIt() async throws {
    let threads = ProtocolThreads(limit: 1)
    let events = Recorder<Int>()
    for number in 0..<100 {
      threads.start { thread in
        thread.assertOnThread()
        events.record(number)
        if number == 99 {
          thread.perform {
            thread.assertOnThread()
            events.record(100)
          }
        }
      }
    }
    #expect(try await events.first(101) == Array(0...100))
  }

  @Test func timersOfTheRunLoopFireWhileThereAreLoads() async throws {
    let threads = ProtocolThreads(limit: 1)
    let fired = Recorder<String>()
    threads.start { thread in
      thread.loadBegan()
      let timer = Timer(timeInterval: 0.02, repeats: false) { _ in
        thread.assertOnThread()
        fired.record("timer")
        thread.loadEnded()
      }
      RunLoop.current.add(timer, forMode: .default)
      RunLoop.current.perform { fired.record("block") }
    }
    #expect(try await fired.first(2) == ["block", "timer"])
  }

  @Test func aThreadThatIsWokenForAStartHasItBeforeATimerCanBlock() {
    let threads = ProtocolThreads(limit: 1)
    let thread = ProtocolThread(of: threads)
    #expect(threads.next(for: thread) == nil)
    threads.start { _ in }
    #expect(threads.leaveFree(thread, isBusy: false) != nil)
    #expect(threads.leaveFree(thread, isBusy: false) == nil)
  }
}
