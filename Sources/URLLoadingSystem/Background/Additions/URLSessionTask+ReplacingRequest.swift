import Foundation
import Synchronization
import TransferProtocol

extension URLSessionTask {
  /// Gives a task of a background session that is not over another request, such as one with a new token. Not part of Apple's
  /// API.
  ///
  /// `request` may differ from ``currentRequest`` in its URL, its header fields, `allowsCellularAccess`,
  /// `allowsExpensiveNetworkAccess` and `allowsConstrainedNetworkAccess`: begin with ``currentRequest`` and change those. The
  /// method, the body and the file of an upload stay. Which task goes first is ``priority``, which may be set at any time.
  ///
  /// A task that waits for its next try is tried with the new request at once; one that runs is begun again with it, from where
  /// it is, unless its request is on its way and must not arrive twice: a `POST` without `Idempotency-Key` is waited for. Where the
  /// URL differs from the former one in more than its query, what has arrived is thrown away. Cookies that the library has added are
  /// kept where the URL is of the same scheme, host and port.
  ///
  /// Returns when the transfer service has the request safe on its disk, and waits as long as there is none; a change that a
  /// service did not confirm is told to the next one. Before the first ``resume()`` it returns at once, and the task is as if it
  /// was made with `request`. From then on ``currentRequest`` is `request`. Changes of one task are made one after the other.
  /// Nothing is called on the delegate queue, and the caller goes on where it was.
  ///
  /// - Throws: ``RequestReplacementError`` where the request stays as it was. `CancellationError` where the caller's Swift task
  ///   is cancelled; the request may be replaced all the same.
  public final func replaceRequest(with request: URLRequest) async throws {
    while true {
      try Task.checkCancellation()
      switch replacementPlace {
      case .over: throw RequestReplacementError.taskIsOver
      case .elsewhere: throw RequestReplacementError.notInBackground
      case .unstarted: if try replaceUnstarted(request) { return }
      // Another thread is in the middle of `resume()`.
      case .beginning: await Task.yield()
      case .service(let work): return try await replace(request, of: work)
      }
    }
  }

  /// A place at which the request of a task can be replaced.
  private enum ReplacementPlace {
    case over
    case elsewhere
    case unstarted
    case beginning
    case service(BackgroundWork)
  }

  private var replacementPlace: ReplacementPlace {
    lockedState.withLock { state in
      switch state.phase {
      case .canceling, .completed: return .over
      case .created, .started: break
      }
      guard let session = state.session, !state.hasWorkEnded else { return .over }
      guard session.engine is BackgroundEngine else { return .elsewhere }
      guard state.phase == .started else { return .unstarted }
      guard let work = state.work else { return .beginning }
      return (work as? BackgroundWork).map { .service($0) } ?? .elsewhere
    }
  }

  /// - Returns: false where the task has been resumed meanwhile.
  private func replaceUnstarted(_ request: URLRequest) throws -> Bool {
    if let former = presentRequest {
      _ = try EditTransfer(from: former, to: request, isUpload: self is URLSessionUploadTask)
    }
    return change(\.currentRequest) { state in
      guard state.phase == .created else { return false }
      (state.originalRequest, state.changedRequest) = (request, nil)
      return true
    }
  }

  private func replace(_ request: URLRequest, of work: BackgroundWork) async throws {
    let wait = ReplacementWait()
    let result = await withTaskCancellationHandler {
      await RequestReplacement.Answer.wait(fallback: .failure(RequestReplacementError.taskIsOver)) { answer in
        wait.begin(answer)
        work.engine.onLoop { $0.replaceRequest(of: work, RequestReplacement(request: request, answer: answer)) }
      }
    } onCancel: {
      wait.cancel()
    }
    try result.get()
  }
}

/// A request in the place of a task's present one, and the caller that waits for that.
struct RequestReplacement: Sendable {
  typealias Answer = PendingAnswer<Result<Void, any Error>>

  let request: URLRequest
  let answer: Answer
}

/// Ends the wait of a caller whose Swift task is cancelled.
private final class ReplacementWait: Sendable {
  private struct State {
    var isCancelled = false
    var answer: RequestReplacement.Answer?
  }

  private let state = Mutex(State())

  func begin(_ answer: RequestReplacement.Answer) {
    let isCancelled = state.withLock { state in
      state.answer = answer
      return state.isCancelled
    }
    if isCancelled { answer.give(.failure(CancellationError())) }
  }

  func cancel() {
    let answer = state.withLock { state in
      state.isCancelled = true
      return state.answer
    }
    answer?.give(.failure(CancellationError()))
  }
}
