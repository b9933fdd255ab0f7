import Foundation
import TransferProtocol

extension BackgroundEngine {
  /// A task that the service has: known here already, or made by an earlier process of this app.
  func reconcile(_ snapshot: TransferSnapshot) {
    let description = snapshot.description
    let work: BackgroundWork
    if let known = works[description.taskIdentifier], known.token == description.token {
      work = known
      if work.isCreated, snapshot.status.state != .completed { catchUp(work, snapshot.status) }
    } else if finishedTasks.contains(description.taskIdentifier) {
      // Over for the app; the service waits for an acknowledgement that it will be given again.
      return
    } else {
      guard let session, let request = description.request.urlRequest else { return }
      let restored = session.restoreDownloadTask(identifier: description.taskIdentifier, request: request) { task in
        BackgroundWork(engine: self, task: task, token: description.token)
      } configure: { state in
        state.taskDescription = description.taskDescription
        state.priority = description.priority
        state.earliestBeginDate = description.earliestBeginDate
        state.countOfBytesClientExpectsToSend = description.countOfBytesClientExpectsToSend
        state.countOfBytesClientExpectsToReceive = description.countOfBytesClientExpectsToReceive
      } suspensions: {
        snapshot.status.state == .suspended ? 1 : 0
      }
      guard let restored else { return }
      work = restored
      works[description.taskIdentifier] = work
    }
    work.isCreated = true
    work.toldHints = BackgroundWork.Hints(
      taskDescription: description.taskDescription, priority: description.priority)
    work.adopt(
      received: snapshot.status.countOfBytesReceived, expected: snapshot.status.countOfBytesExpectedToReceive)
    work.adopt(snapshot.response)
  }

  /// What the delegate was not told while there was no connection: bytes that arrived, or that have to come again.
  private func catchUp(_ work: BackgroundWork, _ status: TransferStatus) {
    let (received, expected) = (status.countOfBytesReceived, status.countOfBytesExpectedToReceive)
    if received < work.task.bytesReceived.load(ordering: .relaxed) {
      resumed(work, at: received, expected: expected)
    } else {
      progressed(work, to: received, expected: expected)
    }
  }

  func handle(_ push: ServicePush) {
    switch push {
    case .event(let event): handle(event)
    case .eventsFinished: finishEvents()
    case .progress(let report):
      guard let work = works[report.taskIdentifier] else { return }
      progressed(work, to: report.totalBytesWritten, expected: report.totalBytesExpectedToWrite)
    case .responseReceived(let report): works[report.taskIdentifier]?.adopt(report.response)
    case .resumedAtOffset(let report):
      guard let work = works[report.taskIdentifier] else { return }
      resumed(work, at: report.offset, expected: report.expectedTotal)
    case .stateChanged, .transferChanged, .unknown: break
    }
  }

  private func progressed(_ work: BackgroundWork, to received: Int64, expected: Int64) {
    let before = work.task.bytesReceived.load(ordering: .relaxed)
    work.adopt(received: received, expected: expected)
    guard received > before, let task = work.task as? URLSessionDownloadTask else { return }
    work.lastResumption = nil
    work.delivery?.didWrite(task, bytes: received - before, total: received, expected: expected)
  }

  private func resumed(_ work: BackgroundWork, at offset: Int64, expected: Int64) {
    work.adopt(received: offset, expected: expected)
    // Tries that bring nothing resume at the same place again and again.
    guard work.lastResumption != offset, let session, let task = work.task as? URLSessionDownloadTask else { return }
    work.lastResumption = offset
    work.delivery?.post(.didResume) {
      $0.download?.urlSession(session, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: expected)
    }
  }

  /// The two events of a download become the two calls at its end; each is acknowledged after both have returned.
  private func handle(_ event: SequencedEvent) {
    guard seenSequences.insert(event.sequence).inserted else {
      // The service was gone before the acknowledgement had reached it.
      if handledSequences.contains(event.sequence) { acknowledge([event.sequence]) }
      return
    }
    guard let work = works[event.taskIdentifier] else {
      // No delegate here can be told of it; it stays in the log for a process that has one.
      seenSequences.remove(event.sequence)
      return
    }
    work.sequences.append(event.sequence)
    switch event.event {
    case .finishedDownloading(let download):
      work.finishedFile = URL(fileURLWithPath: download.path)
      work.adopt(download.response)
    case .completed(let completion):
      work.adopt(completion.response)
      work.adopt(
        received: completion.countOfBytesReceived, expected: completion.countOfBytesExpectedToReceive)
      if let failure = completion.failure {
        finish(work, .failure(failure.urlError))
      } else {
        finish(work, .success(work.finishedFile.map { .file($0) } ?? .nothing))
      }
    }
  }

  func finish(_ work: BackgroundWork, _ result: Result<Received, any Error>) {
    guard !work.awaitsResumePoint else {
      work.pendingEnd = result
      return
    }
    var result = result
    if let data = work.resumeData, case .failure(let error) = result {
      let url = work.task.presentRequest?.url
      result = .failure(ErrorMapping.urlError(error, url: url).adding(data, forKey: NSURLSessionDownloadTaskResumeData))
    }
    works[work.task.taskIdentifier] = nil
    if !work.sequences.isEmpty { finishedTasks.insert(work.task.taskIdentifier) }
    // Without a delegate the file would be lost: the events wait for a process that has one.
    guard let delivery = work.delivery else { return work.task.finish(result, delivery: nil, transactions: []) }
    let sequences = work.sequences
    work.task.finish(result, delivery: delivery, transactions: [])
    delivery.lane.append { [self] in
      onLoop { engine in
        engine.handledSequences.formUnion(sequences)
        engine.acknowledge(sequences)
      }
    }
  }

  func finishEvents() {
    isPromisedFinish = false
    guard let session, let facets = session.facets else { return }
    session.lane.append {
      facets.session.urlSessionDidFinishEvents(forBackgroundURLSession: session)
    }
  }
}
