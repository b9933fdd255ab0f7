import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

extension TransferMachine {
  enum Event: Sendable {
    /// It was created running, or an earlier life of the service left it active. `delay`: until its next try.
    case queued(delay: Scheduler.Delay?)
    /// The task was created with a file to begin with. `runs`: the task runs at once.
    case resumeFileGiven(ResumeImport, runs: Bool)
    case resumed
    case suspended
    case cancelled(wantsResumePoint: Bool)
    /// Its session was invalidated.
    case discarded
    case serviceEnds
    case earliestBeginChanged(Date?)
    case networkChanged
    /// The scheduler chose it to run.
    case chosen(Readiness)
    case importEnded
    /// Bytes arrive, and so many would be kept.
    case progressed(KeptBytes)
    /// A process of the app takes questions.
    case appIsReady
    /// `jitter`: 0…1, spreads retries.
    case runEnded(DownloadOutcome, jitter: Double)
    case endWritten
    case endNotWritten
    case storageTimerFired
  }

  /// How a transfer begins that the scheduler has chosen.
  enum Readiness: Sendable {
    case start(Start)
    case importFirst(ResumeImport)
    /// It can never run: its record is damaged, or the time for the whole resource is over.
    case impossible(TransferFailure, ResponseSummary?)
    /// The queue has no such transfer.
    case unknown
    /// The disk has no room for it still.
    case noSpace(needed: Int64, available: Int64)
    /// The queue could not be read; it is read again after `pause` seconds.
    case unreadable(String, pause: TimeInterval)
  }

  enum Action: Sendable, Equatable {
    /// Hand it to the scheduler, where it replaces what the scheduler knew of it.
    case schedule(Scheduler.Delay?)
    case unschedule
    case importResumeFile(ResumeImport)
    case run(Start)
    case stopRun
    case saveRetry(failures: Int, because: String, at: BootInstant)
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
  }

  /// A file that the app gave to begin with, and what proves that its bytes belong to the resource.
  struct ResumeImport: Sendable, Equatable {
    let point: ResumePoint
    let validator: ResumeValidator?
  }
}
