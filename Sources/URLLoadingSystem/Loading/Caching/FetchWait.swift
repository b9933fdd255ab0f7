import HTTPSemantics
import HTTPTransport
import NIOCore

/// The wait of a load for the fetch of another one. It ends after some time in any case: sooner while not even the head of
/// the response is there. Confined to the load's event loop.
final class FetchWait: PendingStep, @unchecked Sendable {
  private let fetch: SharedFetch
  private let executor: LoopExecutor
  private let goOn: () -> LoadStep
  private var id: Int?
  private var timer: Scheduled<Void>?
  private var isOver = false
  private var isAborted = false
  /// The time that is left when the head has come; nil once that runs.
  private var timeForBody: TimeAmount?
  /// The time for head and body together.
  private let limit: TimeAmount
  private let longest: SharedFetches.WaitLimits
  private var action: (() -> Void)?

  /// nil when there is no use in waiting.
  ///
  /// - Parameter goOn: The step that follows. Called once.
  init?(
    for fetch: SharedFetch, atMost limit: TimeAmount, on executor: LoopExecutor,
    isAnswered: @escaping @Sendable (StoredHead) -> Bool, _ goOn: @escaping () -> LoadStep
  ) {
    executor.loop.assertInEventLoop()
    self.fetch = fetch
    self.executor = executor
    self.goOn = goOn
    self.limit = limit
    longest = fetch.waitLimits
    let follower = SharedFetch.Follower(isAnswered: isAnswered) { [weak self] in
      executor.loop.execute { [weak self] in self?.end() }
    }
    guard let id = fetch.join(follower) else { return nil }
    self.id = id
    let forHead = min(limit, longest.head)
    timeForBody = limit - forHead
    startTimer(forHead)
  }

  private func startTimer(_ time: TimeAmount) {
    timer = executor.loop.scheduleTask(in: time) { [weak self] in self?.timeIsUp() }
  }

  private func timeIsUp() {
    executor.loop.assertInEventLoop()
    guard !isOver else { return }
    guard fetch.hasHead, let time = timeForBody else {
      // A load that may wait only briefly learns nothing about the fetch.
      if limit >= (fetch.hasHead ? longest.whole : longest.head) { fetch.reportSlow() }
      return end()
    }
    timeForBody = nil
    startTimer(time)
  }

  deinit { leave() }

  private func leave() {
    timer?.cancel()
    timer = nil
    if let id { fetch.leave(id) }
    id = nil
  }

  private func end() {
    executor.loop.assertInEventLoop()
    leave()
    isOver = true
    if let action { executor.schedule(action) }
    action = nil
  }

  func whenReady(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    if isOver { executor.schedule(action) } else { self.action = action }
  }

  func step() -> LoadStep {
    executor.loop.assertInEventLoop()
    // An aborted load ends before its next stage.
    guard !isAborted else { return .proceed }
    return isOver ? goOn() : .pending(self)
  }

  func abort(_ error: any Error) {
    isAborted = true
    end()
  }
}
