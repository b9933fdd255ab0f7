import Foundation
import TransferProtocol

/// How often and when the transfer service tries a task again that failed. Not part of Apple's API.
///
/// It is set for a session (``URLSessionConfiguration/transferRetryPolicy``) or for a task
/// (``URLSessionTask/transferRetryPolicy``), which then takes nothing from that of its session. Faults of the machine, such
/// as a full disk or no network, are waited for as ever and end no task.
public struct TransferRetryPolicy: Sendable, Hashable {
  /// How many tries in a row may fail, the first one included; less than 1 counts as 1. A try that brings new bytes which
  /// are kept begins the count anew. The last one's failure, or answer, is that of the task. Default nil: as many as fit into
  /// `timeoutIntervalForResource`.
  public var maximumAttempts: Int?

  /// Seconds to wait after the first failure; each further wait in a row is twice as long, and up to a quarter longer so
  /// that clients which failed together do not come back together. Less than 0.2 counts as 0.2. A change of the network ends
  /// a wait. Default nil: up to 1 s after the first failure, then 1 to 2 s, which doubles.
  public var pause: TimeInterval?

  /// Seconds than which no wait is longer, but for one that a server asks for (Retry-After). Default nil: 600.
  public var longestPause: TimeInterval?

  /// The HTTP statuses of answers that the task does not take: its request is made again, where it has a method that may be
  /// repeated (GET, HEAD, PUT, DELETE, OPTIONS). Default empty: an answer to the task's request is handed out whatever its
  /// status. One to a request for the rest of a download or by which an upload goes on, which only the service makes, is not
  /// handed out in any case where it is 408, 429 or 500 to 599, but for that to the last try.
  public var statuses: Set<Int>

  /// A policy.
  ///
  /// - Parameters:
  ///   - maximumAttempts: how many tries in a row may fail; nil: as many as fit into the time.
  ///   - pause: seconds after the first failure; nil: the usual.
  ///   - longestPause: seconds of the longest wait; nil: 600.
  ///   - statuses: the statuses of answers that are not taken.
  public init(
    maximumAttempts: Int? = nil, pause: TimeInterval? = nil, longestPause: TimeInterval? = nil,
    statuses: Set<Int> = []
  ) {
    self.maximumAttempts = maximumAttempts
    self.pause = pause
    self.longestPause = longestPause
    self.statuses = statuses
  }

  /// The statuses by which servers say that they can't serve now: 408, 429, 500, 502, 503 and 504.
  public static let passingStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
}

extension TransferRetryPolicy {
  var description: RetryDescription {
    var description = RetryDescription()
    description.maximumAttempts = maximumAttempts.map { max($0, 1) }
    description.pause = pause.map { MessageInterval.seconds($0) }
    description.longestPause = longestPause.map { MessageInterval.seconds($0) }
    description.statuses = statuses.isEmpty ? nil : statuses.filter { (100...599).contains($0) }.sorted()
    return description
  }

  init(_ description: RetryDescription) {
    self.init(
      maximumAttempts: description.maximumAttempts, pause: description.pause, longestPause: description.longestPause,
      statuses: Set(description.statuses ?? []))
  }
}

extension URLSessionTask {
  /// How often and when the transfer service tries the task again. Default nil: as the session's configuration says.
  ///
  /// Set it before the first `resume()`; later changes are ignored. Has no effect outside background sessions. Not part of
  /// Apple's API.
  public final var transferRetryPolicy: TransferRetryPolicy? {
    get { lockedState.withLock { $0.transferRetryPolicy } }
    set {
      lockedState.withLock { state in
        if case .created = state.phase { state.transferRetryPolicy = newValue }
      }
    }
  }

  /// How many bytes a second the task may receive and send; fewer than 1,024 count as 1,024. Default nil: any number.
  ///
  /// It may be changed at any time, also while the task runs. Limits of the session and of the user (`urlsession limit`) count
  /// beside it, and the lowest wins. Has no effect outside background sessions. Not part of Apple's API.
  public final var transferBandwidthLimit: Int64? {
    get { read(\.transferBandwidthLimit) { $0.transferBandwidthLimit } }
    set { setHint(\.transferBandwidthLimit) { $0.transferBandwidthLimit = newValue } }
  }
}
