import Foundation
import HTTPTransport
import NIOPosix
import SystemServices
import TransferProtocol

/// Hands tasks over to the service. The app opens the files of uploads itself, since the service takes none by its name:
/// an app may see fewer files than the service.
extension BackgroundEngine {
  func create(_ creations: [Outbox.Creation]) {
    assertConfined()
    failUnchecked(creations)
    let wanted = creations.compactMap { creation -> (task: Int, file: URL)? in
      guard let work = works[creation.task], work.state.source == nil, let file = work.fileToSend else { return nil }
      return (creation.task, file)
    }
    guard !wanted.isEmpty else { return send(creations) }
    let connection = self.connection
    NIOThreadPool.singleton.runIfActive(eventLoop: executor.loop) { BackgroundEngine.open(wanted) }
      .whenComplete { result in
        self.opened((try? result.get()) ?? [:])
        // Over the next connection they are created anew.
        guard connection != nil, connection === self.connection else { return }
        self.send(creations)
      }
  }

  /// Opens as many as this process may. Blocks.
  private static func open(_ wanted: [(task: Int, file: URL)]) -> [Int: Result<SourceFile, URLError>] {
    var opened: [Int: Result<SourceFile, URLError>] = [:]
    for (task, file) in wanted {
      do { opened[task] = .success(try BackgroundTaskRules.open(file)) } catch let error as URLError {
        opened[task] = .failure(error)
      } catch { return opened }
    }
    return opened
  }

  private func opened(_ files: [Int: Result<SourceFile, URLError>]) {
    assertConfined()
    for (task, result) in files.sorted(by: { $0.key < $1.key }) {
      guard let work = works[task] else { continue }
      switch result {
      case .success(let file): work.state.source = file
      case .failure(let error): finish(work, .failure(error))
      }
    }
  }

  /// Sends those whose files are open. The app may have too many open files for the others at the moment.
  private func send(_ creations: [Outbox.Creation]) {
    var files: [SourceFile] = []
    var tasks: [TransferDescription] = []
    var left: [Int] = []
    for creation in creations {
      guard let work = works[creation.task], let description = work.description(creation.wanted) else { continue }
      if work.fileToSend != nil {
        guard let file = work.state.source else {
          left.append(creation.task)
          continue
        }
        files.append(file)
      }
      tasks.append(description)
    }
    guard !tasks.isEmpty else { return perform(outbox.creationEnded(left.isEmpty ? .accepted : .refusedForNow)) }
    outbox.leftOut(left)
    let identifiers = tasks.map(\.taskIdentifier)
    let request = CreateTasks(session: identifier, tasks: tasks, files: files.isEmpty ? nil : files.count)
    send(.createTasks(request), passing: files) { engine, result in
      let outcome = engine.outcome(result)
      if case .success(.created(let created)) = result {
        for (task, number) in zip(identifiers, created.transfers) { engine.works[task]?.state.transfer = number }
      }
      for creation in creations where outcome != .unanswered { engine.works[creation.task]?.state.source = nil }
      engine.perform(engine.outbox.creationEnded(outcome))
      guard case .success = result, let version = engine.connection?.version,
        version < ProtocolVersions.ofWaitingReasons
      else { return }
      // It will not say why they wait.
      for creation in creations { engine.works[creation.task]?.task.noteWaiting(nil) }
    }
  }

  /// A service that would hand out any file gets no task whose file must be a certain one.
  private func failUnchecked(_ creations: [Outbox.Creation]) {
    guard let version = connection?.version, version < ProtocolVersions.ofExpectations else { return }
    for creation in creations {
      guard let work = works[creation.task], let task = work.task as? URLSessionDownloadTask,
        task.expectedContent != nil
      else { continue }
      let sentence =
        "The transfer service is of an earlier version, which does not check what a file is. Update urlsessiond, and end "
        + "the one that runs."
      finish(work, .failure(ErrorMapping.make(.unknown, because: sentence)))
    }
  }
}
