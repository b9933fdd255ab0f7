import Foundation

extension ProtocolLoad {
  /// The part that several threads change, behind the lock.
  struct State {
    var calls: ClientCalls
    var answer = Answer.none
    /// The request in the form that the class has given it; nil before.
    var canonical: URLRequest?
    /// nil until a thread has taken the load.
    var thread: ProtocolThread?
    /// The thread asks the classes, or starts the object, at this moment.
    var isStarting = false
    var mustStop = false
    /// The app has refused a redirect, and what follows is decided when `startLoading()` has returned: the protocol may
    /// be about to give the redirect its body.
    var isRefusalDue = false
    /// The loop will look.
    var isWakeDue = false

    var hasAnswer: Bool { if case .none = answer { false } else { true } }

    mutating func takeAnswer() -> Answer {
      defer { answer = .none }
      return answer
    }

    /// Whether the loop may take what there is.
    var isReady: Bool { !isRefusalDue && (calls.hasMore || calls.isOver || hasAnswer) }

    /// Decides what a redirect that was refused becomes. False while that can't be decided, or when there is none.
    mutating func settleRefusal() -> Bool {
      guard isRefusalDue, !isStarting else { return false }
      isRefusalDue = false
      calls.redirectIsRefused()
      return true
    }

    /// Whether the loop is to be woken; notes that it is.
    mutating func isWakeNeeded() -> Bool {
      defer { isWakeDue = true }
      return !isWakeDue
    }
  }

  /// The word of the classes; `none` also once the loop has heard it.
  enum Answer {
    case none
    case declined
    /// A class loads the request, and the app is to be asked for the stream of its body first.
    case needsStream(URLProtocol.Type)
    /// The body of the request can't be read.
    case failed(any Error)
  }
}
