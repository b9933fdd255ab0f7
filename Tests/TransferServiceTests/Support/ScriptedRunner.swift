import Foundation
import Synchronization
import TransferProtocol

@testable import TransferService

/// Runs nothing: a test says how each run ends. A run that is told to stop has stopped at once, but between `holdStops` and
/// `releaseStops`, or after `makeRequestsUnrepeatable`.
final class ScriptedRunner: DownloadRunning {
  private struct Run {
    let job: DownloadJob
    let report: @Sendable (DownloadReport) -> Void
    let ended: @Sendable (DownloadOutcome) -> Void
  }

  private struct State {
    var runs: [TransferID: Run] = [:]
    var twice: [TransferID] = []
    var holdsStops = false
    var stopping: Set<TransferID> = []
    var isRepeatable = true
    var runningOn: Set<TransferID> = []
    var holdsCheckpoints = false
    var checkpoints: [TransferID: @Sendable () -> Void] = [:]
  }

  private let state = Mutex(State())

  /// The transfers that run.
  var running: [TransferID] { state.withLock { $0.runs.keys.sorted() } }
  /// Transfers that were started while they ran.
  var startedTwice: [TransferID] { state.withLock { $0.twice } }
  /// Those that were told to stop and have not.
  var stopping: [TransferID] { state.withLock { $0.stopping.sorted() } }

  /// Those that were asked to stop where their requests may be made again, and have gone on.
  var runningOn: [TransferID] { state.withLock { $0.runningOn.sorted() } }

  func start(
    _ job: DownloadJob, report: @escaping @Sendable (DownloadReport) -> Void,
    ended: @escaping @Sendable (DownloadOutcome) -> Void
  ) -> any DownloadStopping {
    state.withLock {
      if $0.runs[job.id] != nil { $0.twice.append(job.id) }
      $0.runs[job.id] = Run(job: job, report: report, ended: ended)
    }
    return Handle(runner: self, id: job.id)
  }

  /// What a transfer that runs was started with.
  func job(_ id: TransferID) -> DownloadJob? { state.withLock { $0.runs[id]?.job } }

  func holdStops() { state.withLock { $0.holdsStops = true } }

  func releaseStops() {
    let stopping = state.withLock { state in
      state.holdsStops = false
      defer { state.stopping = [] }
      return state.stopping
    }
    for id in stopping { end(id, .stopped(received: 0)) }
  }

  /// From now on runs stop for good only.
  func makeRequestsUnrepeatable() { state.withLock { $0.isRepeatable = false } }

  private func stopIfRepeatable(_ id: TransferID) {
    let stops = state.withLock { state in
      if !state.isRepeatable { state.runningOn.insert(id) }
      return state.isRepeatable
    }
    if stops { stop(id) }
  }

  private func stop(_ id: TransferID) {
    let isHeld = state.withLock { state in
      if state.holdsStops, state.runs[id] != nil { state.stopping.insert(id) }
      return state.holdsStops
    }
    if !isHeld { end(id, .stopped(received: 0)) }
  }

  /// Those whose checkpoints are under way.
  var checkpointing: [TransferID] { state.withLock { $0.checkpoints.keys.sorted() } }

  func holdCheckpoints() { state.withLock { $0.holdsCheckpoints = true } }

  func endCheckpoint(of id: TransferID) { state.withLock { $0.checkpoints.removeValue(forKey: id) }?() }

  private func checkpoint(_ id: TransferID, _ ended: @escaping @Sendable () -> Void) {
    let isHeld = state.withLock { state in
      if state.holdsCheckpoints { state.checkpoints[id] = ended }
      return state.holdsCheckpoints
    }
    if !isHeld { ended() }
  }

  func report(_ report: DownloadReport, by id: TransferID) { state.withLock { $0.runs[id] }?.report(report) }

  func end(_ id: TransferID, _ outcome: DownloadOutcome) {
    state.withLock { $0.runs.removeValue(forKey: id) }?.ended(outcome)
  }

  /// Ends a run as one that has received four bytes, which are the whole file.
  func finish(_ id: TransferID, in fixture: EngineFixture) throws {
    let response = ResponseSummary(url: "http://h/", status: 200)
    try fixture.store.commit(
      offset: 4, representation: .init(response: response, validator: nil, expectedTotal: 4), of: id)
    // A run that has its file complete can't be stopped any more; one that was stopped writes none.
    guard let run = state.withLock({ $0.runs.removeValue(forKey: id) }) else { return }
    try Data("done".utf8).write(to: URL(fileURLWithPath: fixture.files.complete(id)))
    run.ended(.finished(response, byteCount: 4))
  }

  private struct Handle: DownloadStopping {
    let runner: ScriptedRunner
    let id: TransferID
    func stop() { runner.stop(id) }
    func stopIfRepeatable() { runner.stopIfRepeatable(id) }
    func checkpoint(_ ended: @escaping @Sendable () -> Void) { runner.checkpoint(id, ended) }
  }
}
