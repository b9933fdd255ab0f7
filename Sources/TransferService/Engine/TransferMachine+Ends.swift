import TransferProtocol

/// The values of which the states of a transfer are made.
extension TransferMachine {
  /// The next step when a run or an import has ended.
  enum Continuation: Sendable, Equatable {
    case wait
    case suspend
    case cancel(wantsResumePoint: Bool)
    /// The session was invalidated: no event, no file.
    case discard

    /// The step after a cancellation. One that is over without events stays so.
    func cancelled(wantsResumePoint: Bool) -> Continuation {
      switch self {
      case .discard: .discard
      case .cancel(let wanted): .cancel(wantsResumePoint: wanted || wantsResumePoint)
      case .wait, .suspend: .cancel(wantsResumePoint: wantsResumePoint)
      }
    }
  }

  /// How a transfer ends.
  enum End: Sendable, Equatable {
    case file(ResponseSummary, byteCount: Int64)
    case failure(TransferFailure, ResponseSummary?)
    case cancelled(wantsResumePoint: Bool)
  }

  /// Whether the file that the app gave to begin with may still be imported.
  enum ResumeFile: Sendable, Equatable {
    case untried
    case tried
  }

  /// The user has paused it. The app may suspend and resume it all the same, which counts when the user lets it go on.
  ///
  /// Or it was set aside, since the service crashed while it ran. Then the app lets it go on, too, by a suspension and the
  /// resumption that follows; a resumption alone may be a request that is sent again.
  struct Hold: Sendable, Equatable {
    /// Whether the app wants it to run.
    var goesOn: Bool
    var isSetAside = false
  }
}
