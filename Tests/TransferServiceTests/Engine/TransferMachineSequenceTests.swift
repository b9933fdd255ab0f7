import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Random sequences of events for the machine of a transfer, in a world that answers its actions in any order.
@Suite struct TransferMachineSequenceTests {
  /// The state that the engine, the scheduler, the runner and the queue would have.
  private struct World {
    var random: SeededGenerator
    var machine = TransferMachine()
    var isScheduled = false
    var hasSlot = false
    var runs = 0
    var isStopAsked = false
    /// It may go on to its end.
    var isAskedToStop = false
    var imports = 0
    var hasTimer = false
    var isWriting = false
    var written: [TransferMachine.End] = []
    var isRetired = false
    var isCancelled = false
    var isDiscarded = false
    var storageWorks = true
    var problems: [String] = []
    var history: [String] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func check(_ condition: Bool, _ problem: String) {
      if !condition { problems.append(problem) }
    }

    mutating func send(_ event: TransferMachine.Event) {
      history.append("\(event)")
      let actions = machine.handle(event, at: TransferMachineTests.moment)
      check(actions.isEmpty || !isRetired, "it acts after its end")
      for action in actions { perform(action) }
      check(machine.isBusy == (runs + imports > 0), "busy without work, or work that is not known")
      if case .blocked = machine.state { check(hasTimer, "blocked without a timer") }
      if case .waiting = machine.state { check(isScheduled, "it waits, and the scheduler does not know it") }
    }

    private mutating func perform(_ action: TransferMachine.Action) {
      switch action {
      case .schedule:
        check(runs + imports == 0, "scheduled while it runs")
        (isScheduled, hasSlot) = (true, false)
      case .unschedule: (isScheduled, hasSlot) = (false, false)
      case .run:
        check(runs + imports == 0, "it runs twice")
        check(hasSlot, "it runs without a slot")
        runs += 1
      case .importResumeFile:
        check(runs + imports == 0, "it is imported while it runs")
        imports += 1
      case .stopRun:
        check(runs == 1 && !isStopAsked, "a stop without a run, or a second one")
        isStopAsked = true
      case .stopRunIfRepeatable:
        check(runs == 1 && !isStopAsked && !isAskedToStop, "it is asked without a run, or a second time")
        isAskedToStop = true
      case .writeEnd:
        check(!isWriting && written.isEmpty, "the end is written twice")
        check(!isScheduled, "it is over and scheduled")
        isWriting = true
      case .setStorageTimer:
        check(!hasTimer, "a second timer")
        hasTimer = true
      case .cancelStorageTimer:
        check(hasTimer, "a timer is cancelled that was not set")
        hasTimer = false
      case .retire:
        check(!isRetired, "it retires twice")
        check(!isScheduled && runs + imports == 0 && !hasTimer, "it retires and leaves something")
        check(written.count == 1 || isDiscarded, "it retires without an end")
        isRetired = true
      case .saveRetry, .forgetFailures, .announceState, .removeFiles: break
      }
    }

    /// Something that the world may do now.
    mutating func step(allowsRequests: Bool) {
      var choices: [(inout World) -> Void] = []
      if isWriting { choices.append { $0.answerWrite() } }
      if isScheduled, !hasSlot {
        choices.append {
          $0.hasSlot = true
          let isFile = $0.machine.resumeFile == .untried && $0.random.chance(in: 8)
          let isReadable = !$0.random.chance(in: 8)
          $0.send(
            .chosen(
              !isReadable
                ? .held(TransferMachineTests.key)
                : isFile ? .importFirst(TransferMachineTests.file) : .start(TransferMachineTests.start)))
        }
      }
      if imports > 0 {
        choices.append {
          $0.imports -= 1
          $0.send($0.random.chance(in: 4) ? TransferMachineTests.postponed : .importEnded)
        }
      }
      if runs > 0 {
        choices.append { $0.endRun() }
        choices.append { $0.send(.progressed(KeptBytes(Int64.random(in: 0...(1 << 22), using: &$0.random)))) }
      }
      if hasTimer {
        choices.append {
          $0.hasTimer = false
          if case .blocked = $0.machine.state {} else { $0.problems.append("a timer that is not needed") }
          $0.send(.storageTimerFired)
        }
      }
      if machine.needsApp { choices.append { $0.send(.appIsReady) } }
      if allowsRequests {
        choices.append { $0.send($0.machine.canSuspend ? .suspended : .resumed) }
        choices.append { $0.send($0.random.chance(in: 2) ? .suspended : .resumed) }
        choices.append { $0.send(.networkChanged) }
        choices.append { $0.send($0.random.chance(in: 2) ? .gaveWay : .requestChanged) }
        choices.append { $0.send(.readable) }
        choices.append { $0.send(.earliestBeginChanged(TransferMachineTests.moment.date + 5)) }
        choices.append { $0.storageWorks.toggle() }
        if random.chance(in: 3) {
          choices.append {
            // An end that is being written can no longer be changed.
            if !$0.isWriting, $0.written.isEmpty { $0.isCancelled = true }
            $0.send(.cancelled(wantsResumePoint: $0.random.chance(in: 2)))
          }
        }
        if random.chance(in: 9) {
          choices.append {
            if !$0.isRetired { $0.isDiscarded = true }
            $0.send(.discarded)
          }
        }
      }
      choices.randomElement(using: &random)?(&self)
    }

    private mutating func answerWrite() {
      isWriting = false
      guard storageWorks, !isRetired, case .finishing(let end) = machine.state else { return send(.endNotWritten) }
      written.append(end)
      send(.endWritten)
    }

    private mutating func endRun() {
      runs -= 1
      let wasStopped = isStopAsked || isAskedToStop
      (isStopAsked, isAskedToStop) = (false, false)
      let outcomes: [DownloadOutcome] = [
        .finished(TransferMachineTests.response, byteCount: 9),
        .failed(TransferMachineTests.failure, nil, received: 1),
        .retry(TransferMachineTests.failure, kept: KeptBytes(random.chance(in: 2) ? 1 << 20 : 0), received: 1),
        .refused(TransferMachineTests.refusal, kept: KeptBytes(0), received: 1),
        .storageUnavailable("Gone.", kept: KeptBytes(0), received: 1),
        .noSpace(needed: 1, available: 0), .stopped(received: 1), .needsApp("Who?", received: 1),
      ]
      let outcome = wasStopped && random.chance(in: 2) ? .stopped(received: 1) : outcomes.randomElement(using: &random)
      send(.runEnded(outcome ?? .stopped(received: 1), jitter: 0.5))
    }
  }

  @Test(arguments: 0..<8) func endsOnceAndLosesNothing(part: UInt64) {
    for seed in (part * 1_000)..<((part + 1) * 1_000) {
      var world = World(seed: seed)
      if world.random.chance(in: 4) {
        world.send(.resumeFileGiven(TransferMachineTests.file, runs: world.random.chance(in: 2)))
      }
      for _ in 0..<60 { world.step(allowsRequests: true) }
      // Then nothing disturbs it any more: it has to come to its end.
      world.storageWorks = true
      var patience = 500
      while !world.isRetired, patience > 0 {
        patience -= 1
        if world.machine.canResume { world.send(.resumed) }
        world.step(allowsRequests: false)
      }
      world.check(world.isRetired, "it never ends")
      world.check(world.written.count == (world.isDiscarded ? world.written.count : 1), "it has no end")
      if world.isCancelled, let end = world.written.first {
        if case .cancelled = end {} else { world.problems.append("a cancelled transfer ended otherwise") }
      }
      #expect(world.problems == [], "seed \(seed): \(world.history)")
      if !world.problems.isEmpty { return }
    }
  }
}
