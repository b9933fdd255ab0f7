import Foundation
import LoopbackServer
import Observation
import Synchronization
import Testing

@testable import URLLoadingSystem

/// A data task that becomes a download or a stream: the new task goes on where the old one was.
@Suite struct SuccessorTests {
  /// Writes down of which tasks it was told that their suspension changed, and what it was.
  private final class Work: TaskWork {
    let told = Mutex<[Bool]>([])
    let cancelled = Mutex<[URLSessionTask]>([])
    func begin(_ task: URLSessionTask) {}
    func suspensionChanged(of task: URLSessionTask) { told.withLock { $0.append(task.isSuspended) } }
    func hintsChanged(of task: URLSessionTask) {}
    func cancel(_ task: URLSessionTask) { cancelled.withLock { $0.append(task) } }
  }

  enum Kind: CaseIterable, Sendable { case download, stream }

  private func successor(_ kind: Kind, of task: URLSessionDataTask, in session: URLSession, _ work: Work)
    -> URLSessionTask
  {
    switch kind {
    case .download: session.makeDownloadTask(continuing: task, work: work)
    case .stream: session.makeStreamTask(continuing: task, work: work)
    }
  }

  /// The app suspended the old task, and the work has not heard of it yet.
  @Test(arguments: Kind.allCases) func aSuspensionIsNotLost(_ kind: Kind) throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try textURL("x"))
    let work = Work()
    #expect(task.isSuspended)
    let next = successor(kind, of: task, in: session, work)
    #expect(task.state == .completed && next.state == .suspended)
    #expect(work.told.withLock { $0 } == [true])
    for ended in [task, next] { session.forget(ended.taskIdentifier) }
    session.invalidateAndCancel()
  }

  @Test(arguments: Kind.allCases) func whatTheAppSetGoesAlong(_ kind: Kind) throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try textURL("x"))
    let date = Date(timeIntervalSinceNow: -5)
    task.priority = 0.75
    task.taskDescription = "a name"
    task.earliestBeginDate = date
    task.countOfBytesClientExpectsToSend = 3
    task.countOfBytesClientExpectsToReceive = 4
    let next = successor(kind, of: task, in: session, Work())
    #expect(next.priority == 0.75 && next.taskDescription == "a name" && next.earliestBeginDate == date)
    #expect(next.countOfBytesClientExpectsToSend == 3 && next.countOfBytesClientExpectsToReceive == 4)
    for ended in [task, next] { session.forget(ended.taskIdentifier) }
    session.invalidateAndCancel()
  }

  /// The delegate does not know of the new task yet, so the app can only cancel the old one.
  @Test(arguments: Kind.allCases) func cancellingTheOldTaskCancelsTheNewOne(_ kind: Kind) throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try textURL("x"))
    let work = Work()
    let next = successor(kind, of: task, in: session, work)
    task.cancel()
    #expect(next.state == .canceling && next.isCancelled)
    #expect(work.cancelled.withLock { $0 } == [next])
    session.forgetPredecessor(task)
    task.cancel()
    #expect(work.cancelled.withLock { $0 } == [next])
    session.forget(next.taskIdentifier)
    session.invalidateAndCancel()
  }

  /// Observers are told while one task takes the place of the other.
  @Test(arguments: Kind.allCases) func aCancellationOnTheWayIsNotLost(_ kind: Kind) throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try textURL("x"))
    let work = Work()
    task.lockedState.withLock { $0.adopt(work, suspensions: 0) }
    withObservationTracking {
      _ = task.state
    } onChange: {
      task.cancel()
    }
    let next = successor(kind, of: task, in: session, work)
    #expect(next.state == .canceling && next.isCancelled)
    #expect(work.cancelled.withLock { $0 } == [next])
    for ended in [task, next] { session.forget(ended.taskIdentifier) }
    session.invalidateAndCancel()
  }

  @Test(arguments: Kind.allCases) func whatWaitsForResumeDataGoesAlong(_ kind: Kind) async throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.uploadTask(with: URLRequest(url: try textURL("x")), from: Data())
    let work = Work()
    task.lockedState.withLock { $0.adopt(work, suspensions: 0) }
    let answers = Recorder<Data?>()
    task.cancel { answers.record($0) }
    let next = successor(kind, of: task, in: session, work)
    #expect(next.state == .canceling && !next.isCancelled && next.isAskedForResumeData)
    // Asked of the old task, while the delegate knows of no other.
    task.cancel { answers.record($0) }
    next.finish(.failure(ErrorMapping.cancelled), delivery: nil, transactions: [])
    #expect(try await answers.first(2) == [nil, nil])
    session.forgetPredecessor(task)
    session.invalidateAndCancel()
  }
}
