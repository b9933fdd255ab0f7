import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

extension TransferMachine {
  enum Event: Sendable {
    /// It was created running, or an earlier life of the service left it active. `delay`: until its next try.
    case queued(delay: Scheduler.Delay?)
    /// It is suspended or paused, and was to wait for this when it was.
    case wasToWait(Scheduler.Delay?)
    /// The task was created with a file to begin with. `runs`: the task runs at once.
    case resumeFileGiven(ResumeImport, runs: Bool)
    case resumed
    case suspended
    case cancelled(wantsResumePoint: Bool)
    /// Its session was invalidated.
    case discarded
    case serviceEnds
    /// Others run in its place.
    case gaveWay
    /// It can't go on: its time is over.
    case failed(TransferFailure, ResponseSummary?)
    case earliestBeginChanged(Date?)
    /// Its app has said how it begins, or is not asked any more.
    case delayedRequestSettled
    /// Its app wants it to begin with a request that it can't have.
    case unfitToBegin(TransferFailure)
    case networkChanged
    /// The key or the request that it waits for is there, or is not waited for any more.
    case readable
    /// The disk takes writes again.
    case roomFound
    /// The conditions that it waits for are to be looked at again.
    case conditionsChanged
    /// It can wait, and the conditions no longer are such that it runs.
    case conditionsWorsened
    /// The scheduler chose it to run.
    case chosen(Readiness)
    case importEnded
    /// Nothing has changed: the file to begin with can't be imported now.
    case importPostponed(WaitingReason)
    /// Bytes arrive, and so many would be kept.
    case progressed(KeptBytes)
    /// A process of the app takes questions.
    case appIsReady
    /// `jitter`: 0…1, spreads retries.
    case runEnded(DownloadOutcome, jitter: Double)
    case endWritten
    case endNotWritten
    case storageTimerFired
    /// The user pauses it.
    case held
    /// The user lets it go on, where the app wants it to.
    case holdEnded
    /// The user wants no wait for the next try.
    case triedNow
    /// Its next request is another one.
    case requestChanged
  }

  /// How a transfer begins that the scheduler has chosen.
  enum Readiness: Sendable {
    case start(Start)
    case importFirst(ResumeImport)
    /// It can never run: its record is damaged, or the time for the whole resource is over.
    case impossible(TransferFailure, ResponseSummary?)
    /// It waits: it can, its app is asked, or what it needs can't be read now. No try has failed.
    case held(Scheduler.Delay)
    /// The queue has no such transfer.
    case unknown
    /// The disk has no room for it still.
    case noSpace(needed: Int64, available: Int64)
    /// The app has as many bytes on the disk as it may, with those that its running transfers expect.
    case overQuota(DiskUse.Shortage)
  }

  enum Action: Sendable, Equatable {
    /// Hand it to the scheduler, where it replaces what the scheduler knew of it.
    case schedule(Scheduler.Delay?)
    case unschedule
    case importResumeFile(ResumeImport)
    case run(Start)
    case stopRun
    /// Stop the run where its request may be made again. Else it goes on to its end.
    case stopRunIfRepeatable
    case saveRetry(failures: Int, because: String, at: BootInstant, PlannedTry.Kind = .failure)
    case forgetFailures
    /// Write the end and its events to the queue in one transaction, which may have the ends of others too. Answer:
    /// `endWritten` or `endNotWritten`.
    case writeEnd(End)
    /// Answer: `storageTimerFired`.
    case setStorageTimer
    case cancelStorageTimer
    case announceState
    /// Remove what it has on the disk.
    case removeFiles
    /// The last action: it is over.
    case retire
  }

  /// The beginning of a run.
  struct Start: Sendable, Equatable {
    let stored: StoredTransfer
    let remainingTime: TimeInterval
    /// How many bytes the disk had no room for when it ran before; nil when it had.
    var neededSpace: Int64?
    /// The waits after failures.
    var pauses = RetryPauses()
  }

  /// A file that the app gave to begin with, and what proves that its bytes belong to the resource.
  struct ResumeImport: Sendable, Equatable {
    let point: ResumePoint
    let validator: ResumeValidator?
    /// How many of its bytes the transfer has by now: the name that the app gave them is to be removed.
    var placed: Int64 = 0
  }
}
