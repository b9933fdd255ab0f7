import Foundation
import NIOPosix
import TransferProtocol

extension BackgroundEngine {
  func received(_ push: ServicePush, over number: Int) {
    assertConfined()
    guard link.isPresent(number) else { return }
    switch push {
    case .event(let event): received(event)
    case .eventsFinished: perform(inbox.finished())
    case .progress(let report):
      guard let work = works[report.taskIdentifier] else { return }
      progressed(work, to: report.totalBytesWritten, expected: report.totalBytesExpectedToWrite)
    case .sent(let report):
      guard let work = works[report.taskIdentifier] else { return }
      sent(work, to: report.totalBytesSent, expected: report.totalBytesExpectedToSend)
    case .responseReceived(let report): works[report.taskIdentifier]?.adopt(report.response)
    case .resumedAtOffset(let report):
      guard let work = works[report.taskIdentifier] else { return }
      resumed(work, at: report.offset, expected: report.expectedTotal)
    case .challenge(let question): received(question)
    case .delayedRequest(let question): received(question)
    case .waiting(let report):
      for entry in report.tasks {
        works[entry.taskIdentifier]?.task.noteWaiting(entry.waiting.map { TransferWaitingReason($0) })
      }
    case .transferChanged, .sendFiles, .unknown: break
    }
  }

  func progressed(_ work: BackgroundWork, to received: Int64, expected: Int64) {
    assertConfined()
    let before = work.task.bytesReceived.load(ordering: .relaxed)
    work.adopt(received: received, expected: expected)
    guard received > before, let task = work.task as? URLSessionDownloadTask else { return }
    work.state.lastResumption = nil
    work.delivery?.didWrite(task, bytes: received - before, total: received, expected: expected)
  }

  func resumed(_ work: BackgroundWork, at offset: Int64, expected: Int64) {
    assertConfined()
    work.adopt(received: offset, expected: expected)
    // Tries that bring nothing resume at the same place again and again.
    guard work.state.lastResumption != offset, let session, let task = work.task as? URLSessionDownloadTask else {
      return
    }
    work.state.lastResumption = offset
    work.delivery?.post(.didResume) {
      $0.download?.urlSession(session, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: expected)
    }
  }

  // MARK: Events

  private func received(_ event: SequencedEvent) {
    let work = works[event.taskIdentifier]
    let action = inbox.received(event.sequence, task: event.taskIdentifier, isKnown: work != nil)
    guard case .deliver = action, let work else { return perform(action) }
    // No call of the delegate comes of it.
    if case .other = event.event { return perform(inbox.handled([event.sequence])) }
    deliver(event, to: work)
  }

  /// The two events of a download become the two calls at its end; each is acknowledged after both have returned.
  private func deliver(_ event: SequencedEvent, to work: BackgroundWork) {
    perform(outbox.eventArrived(of: event.taskIdentifier))
    work.state.sequences.append(event.sequence)
    switch event.event {
    case .finishedDownloading(let download):
      work.state.finishedFile = URL(fileURLWithPath: download.path)
      work.adopt(download.response)
    case .completed(let completion):
      work.adopt(completion.response)
      work.state.transactions = completion.transactions ?? []
      if let response = completion.response?.urlResponse { cookies?.keep(response, of: work.task) }
      work.adopt(
        received: completion.countOfBytesReceived, expected: completion.countOfBytesExpectedToReceive)
      work.adopt(sent: completion.countOfBytesSent, expected: completion.countOfBytesExpectedToSend)
      if let failure = completion.failure {
        fail(work, failure.urlError, completion.resumePoint)
      } else {
        succeed(work)
      }
    case .other: break
    }
  }

  /// - Parameter point: the bytes with which a later task can go on.
  private func fail(_ work: BackgroundWork, _ error: URLError, _ point: ResumePoint?) {
    let task = work.task
    // A process that has no delegate leaves the event to one that has, and the file with it. An app that gives the download up
    // wants none; the service removes it.
    guard let point, work.delivery != nil, task.wantsResumeData else { return finish(work, .failure(error)) }
    NIOThreadPool.singleton.runIfActive(eventLoop: executor.loop) {
      DownloadResumeData(point, of: task, leavesRoom: true)?.encoded()
    }.whenComplete { data in
      self.onLoop { engine in
        // It has ended with its session meanwhile.
        guard engine.works[task.taskIdentifier] === work else { return }
        engine.finish(work, .failure(error.adding(try? data.get(), forKey: NSURLSessionDownloadTaskResumeData)))
      }
    }
  }

  /// Ends the task for the app, once its resume data has arrived where that was asked for.
  ///
  /// - Parameter successor: the task that is told of the end, where the app made it of the work's own.
  func finish(
    _ work: BackgroundWork, _ result: Result<Received, any Error>, as successor: URLSessionTask? = nil
  ) {
    assertConfined()
    guard !work.holdsEnd(result) else { return }
    work.withdrawQuestions()
    work.endReplacements()
    var result = result
    if let data = work.resumeData, case .failure(let error) = result {
      let url = work.task.presentRequest?.url
      result = .failure(ErrorMapping.urlError(error, url: url).adding(data, forKey: work.resumeDataKey))
    }
    works[work.task.taskIdentifier] = nil
    perform(outbox.remove(work.task.taskIdentifier))
    // Without a delegate no call would get the file: the events wait for a process that has one.
    let sequences = work.state.sequences
    let task = successor ?? work.task
    guard let delivery = work.delivery else {
      task.finish(result, delivery: nil, transactions: [])
      return perform(inbox.leave(sequences))
    }
    task.finish(result, delivery: delivery, transactions: [], told: work.state.transactions)
    delivery.lane.append { [self] in
      onLoop { $0.perform($0.inbox.handled(sequences)) }
    }
  }

  func perform(_ action: Inbox.Action) {
    assertConfined()
    switch action {
    case .nothing, .deliver: break
    case .acknowledge(let sequences): acknowledge(sequences)
    case .keep(let sequences):
      // A service of an earlier version refuses it, and sends no more than its window.
      send(.keepEvents(Acknowledge(session: identifier, sequences: sequences))) { _, _ in }
    case .pause: after(BackgroundEngine.pauseAfterRefusal) { $0.perform($0.inbox.pauseEnded()) }
    case .tellFinished: tellFinished()
    }
  }

  private func acknowledge(_ sequences: [Int64]) {
    send(.acknowledge(Acknowledge(session: identifier, sequences: sequences))) { engine, result in
      switch result {
      case .success:
        engine.perform(engine.inbox.acknowledged(sequences))
        engine.leaveWhenIdle()
      case .failure(let error):
        // Without a connection it is told again over the next one.
        let refusal = error as? Refusal
        engine.perform(
          engine.inbox.acknowledgementRefused(sequences, isTemporary: refusal?.isTemporary ?? false))
        if let refusal, !refusal.isTemporary { engine.leaveWhenIdle() }
      }
    }
  }

  private func tellFinished() {
    guard let session, let facets = session.facets else { return }
    URLSessionApplication.shared.toldFinish(of: identifier)
    session.lane.append {
      facets.session.urlSessionDidFinishEvents(forBackgroundURLSession: session)
    }
  }
}
