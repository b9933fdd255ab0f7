import Foundation
import SystemServices
import TransferProtocol

/// Asks the app how a transfer begins whose earliest date has come. Where no process holds the session, none is started for
/// it: the transfer begins as it is, and so it does where the app gives no answer for a while.
extension TransferEngine {
  /// Until the app has answered; nil where the transfer may begin. Asked when it would run.
  func delayedRequestWait(of id: TransferID) -> Scheduler.Delay? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], transfer.machine.earliestBegin != nil else { return nil }
    switch transfer.delayedRequest {
    case .settled: return nil
    case .waiting(let until) where until <= clock.now:
      log.notice("transfer \(id) begins as it is: its app has been asked about others for too long")
      beginAsItIs(id)
      return nil
    case .asked(let number, let until):
      if until > clock.now { return Scheduler.Delay(until: .instant(until), reason: .delayedRequest) }
      log.notice("transfer \(id) begins as it is: its app has not said otherwise for too long")
      forget(number)
      beginAsItIs(id)
      return nil
    case .unasked, .waiting:
      guard let session = sessions[transfer.session], session.answersDelayedRequests,
        let connection = session.machine.attachment?.connection
      else { return nil }
      let number = ask(.delayedRequest, about: id, session: session, over: connection)
      let until = clock.now + settings.delayedRequestPatience
      transfers.update(id) { $0.delayedRequest = .asked(number, until: until) }
      return Scheduler.Delay(until: .instant(until), reason: .delayedRequest)
    }
  }

  /// The app knows no change that the user has made, and an answer that is made from a former request would undo it. nil where
  /// it can't be read.
  func requestToAskAbout(_ id: TransferID) -> RequestDescription? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let stored = try? store.transfer(id), !stored.isDamaged, case .open(let opened) = opened(stored) else {
      return nil
    }
    var request = opened.description.request
    request.body = nil
    return request
  }

  /// While the app of the session has as many questions as it is asked at a time; nil where the transfer is to be asked
  /// about, or not. Reads nothing from the disk, as thousands may have one date.
  func waitToBeAsked(_ id: TransferID) -> Scheduler.Delay? {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let transfer = transfers[id], transfer.machine.earliestBegin != nil, let session = sessions[transfer.session],
      session.answersDelayedRequests, session.machine.attachment != nil, questions.room(of: session.id) == 0
    else { return nil }
    let until: BootInstant
    switch transfer.delayedRequest {
    case .asked, .settled: return nil
    case .unasked: until = clock.now + settings.delayedRequestPatience
    case .waiting(let instant): until = instant
    }
    guard until > clock.now else { return nil }
    questions.wait(id, session.id)
    transfers.update(id) { $0.delayedRequest = .waiting(until: until) }
    return Scheduler.Delay(until: .instant(until), reason: .delayedRequest)
  }

  /// Those that wait to be asked about are asked about when they would run.
  func askAboutWaiting(of session: SessionID, _ count: Int) {
    dispatchPrecondition(condition: .onQueue(queue))
    for id in questions.takeWaiting(session, count) {
      if case .waiting = transfers[id]?.delayedRequest { post(.delayedRequestSettled, to: id) }
    }
  }

  func beginAsItIs(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    transfers.update(id) { $0.delayedRequest = .settled }
    post(.delayedRequestSettled, to: id)
  }

  /// The date is another one: the app is asked when that has come.
  func earliestBeginChanged(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    // Its wait for the answer is over.
    if askLater(id) { post(.delayedRequestSettled, to: id) }
  }

  /// Forgets the question, so that the app is asked again when the transfer would run.
  ///
  /// - Returns: whether it was asked, or waited to be.
  @discardableResult
  func askLater(_ id: TransferID) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    switch transfers[id]?.delayedRequest {
    case .asked(let number, _): forget(number)
    case .waiting: break
    case .unasked, .settled, nil: return false
    }
    transfers.update(id) { $0.delayedRequest = .unasked }
    return true
  }

  /// The app is asked about the new request: an answer about the former one would undo the change. No more often than
  /// `TransferEngine.askedAgainLimit`, as a delegate may change the request whenever it is asked.
  func askAboutChangedRequest(_ id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard askLater(id) else { return }
    transfers.update(id) { transfer in
      transfer.timesAskedAgain += 1
      if transfer.timesAskedAgain > TransferEngine.askedAgainLimit { transfer.delayedRequest = .settled }
    }
  }

  static let askedAgainLimit = 8

  /// - Returns: nil when the answer comes later.
  func answer(
    _ answer: DelayedRequestAnswered, session id: SessionID, _ message: ClientMessage, from client: any ServiceClient
  ) throws -> ServiceReply? {
    dispatchPrecondition(condition: .onQueue(queue))
    let number = answer.number
    guard let asked = questions[number], asked.session == id, case .delayedRequest = asked.subject else {
      throw Refusal(.unknownTask, "The question is no longer asked.")
    }
    let transfer = asked.transfer
    switch answer.disposition {
    case .continueLoading:
      forget(number)
      beginAsItIs(transfer)
    case .cancel:
      forget(number)
      post(.cancelled(wantsResumePoint: false), to: transfer)
    case .fail(let failure):
      forget(number)
      post(.unfitToBegin(failure.asAnswered), to: transfer)
    case .useNewRequest(let request):
      do {
        try begin(transfer, with: request, number, message, from: client)
        return nil
      } catch let refusal as Refusal where refusal.reason != .storage {
        refused(number, about: transfer, because: refusal.message)
        throw refusal
      }
    }
    return .done
  }

  /// The transfer can't have the request, and does not begin with the one that the app would not have.
  private func refused(_ number: UInt64, about id: TransferID, because sentence: String) {
    forget(number)
    let failure = TransferFailure(domain: NSURLErrorDomain, code: URLError.Code.unknown.rawValue, message: sentence)
    post(.unfitToBegin(failure), to: id)
  }

  /// Answers once the request is in the queue. As long as it can't be written the question stays, so that the answer may be
  /// given again.
  private func begin(
    _ id: TransferID, with request: RequestDescription, _ number: UInt64, _ message: ClientMessage,
    from client: any ServiceClient
  ) throws {
    let change = RequestChange(
      url: request.url, changesFields: true, changesRequest: true, changedParts: ["the request, by its app"],
      keepsPassword: true
    ) { description in
      var changed = description
      let former = description.request
      changed.request = request
      // Apple: those of the original request count.
      changed.request.allowsCellularAccess = former.allowsCellularAccess
      changed.request.allowsExpensiveNetworkAccess = former.allowsExpensiveNetworkAccess
      changed.request.allowsConstrainedNetworkAccess = former.allowsConstrainedNetworkAccess
      changed.request.allowsUltraConstrainedNetworkAccess = former.allowsUltraConstrainedNetworkAccess
      if description.upload != nil { changed.request.body = former.body }
      return changed
    }
    try self.change(id, change, message, from: client) { engine in
      engine.forget(number)
      engine.transfers.update(id) { $0.delayedRequest = .settled }
    } tooLong: { engine, error in
      engine.refused(number, about: id, because: "\(error)")
    }
  }
}

extension TransferFailure {
  /// No longer than a failure of the delegate's request has to be: it is kept in the queue.
  fileprivate var asAnswered: TransferFailure {
    TransferFailure(domain: String(domain.prefix(200)), code: code, message: String(message.prefix(2_000)))
  }
}
