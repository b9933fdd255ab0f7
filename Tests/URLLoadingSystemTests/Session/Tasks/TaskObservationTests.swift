import EveryVersion
import Foundation
import LoopbackServer
import Observation
import Testing

@testable import URLLoadingSystem

/// What Apple's systems tell by key-value observing is told through Observation.
@Suite(.overHTTP1To3) struct TaskObservationTests {
  struct Property: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let read: @Sendable (URLSessionTask) -> Void
    var change: @Sendable (URLSessionTask) -> Void = { _ in }
  }

  static let settable: [Property] = [
    Property(
      testDescription: "taskDescription", read: { _ = $0.taskDescription }, change: { $0.taskDescription = "a" }),
    Property(testDescription: "priority", read: { _ = $0.priority }, change: { $0.priority = 1 }),
    Property(testDescription: "delegate", read: { _ = $0.delegate }, change: { $0.delegate = RecordingDelegate() }),
    Property(
      testDescription: "earliestBeginDate", read: { _ = $0.earliestBeginDate },
      change: { $0.earliestBeginDate = Date() }),
    Property(
      testDescription: "prefersIncrementalDelivery", read: { _ = $0.prefersIncrementalDelivery },
      change: { $0.prefersIncrementalDelivery = false }),
    Property(
      testDescription: "countOfBytesClientExpectsToSend", read: { _ = $0.countOfBytesClientExpectsToSend },
      change: { $0.countOfBytesClientExpectsToSend = 1 }),
    Property(
      testDescription: "countOfBytesClientExpectsToReceive", read: { _ = $0.countOfBytesClientExpectsToReceive },
      change: { $0.countOfBytesClientExpectsToReceive = 1 }),
    Property(testDescription: "state", read: { _ = $0.state }, change: { $0.resume() }),
  ]

  static let loaded: [Property] = [
    Property(testDescription: "state", read: { _ = $0.state }),
    Property(testDescription: "error", read: { _ = $0.error }),
    Property(testDescription: "response", read: { _ = $0.response }),
    Property(testDescription: "currentRequest", read: { _ = $0.currentRequest }),
    Property(testDescription: "delegate", read: { _ = $0.delegate }),
    Property(testDescription: "countOfBytesSent", read: { _ = $0.countOfBytesSent }),
    Property(testDescription: "countOfBytesReceived", read: { _ = $0.countOfBytesReceived }),
    Property(testDescription: "countOfBytesExpectedToSend", read: { _ = $0.countOfBytesExpectedToSend }),
    Property(testDescription: "countOfBytesExpectedToReceive", read: { _ = $0.countOfBytesExpectedToReceive }),
  ]

  @Test(arguments: settable) func whatTheAppSetsIsTold(_ property: Property) throws {
    let session = URLSession(configuration: .loopback)
    let task = session.dataTask(with: try textURL("x"))
    let told = Recorder<String>()
    withObservationTracking {
      property.read(task)
    } onChange: {
      told.record("told")
    }
    let other = Self.settable.first { $0.testDescription != property.testDescription }
    other?.change(task)
    #expect(told.all.isEmpty)
    property.change(task)
    #expect(told.all == ["told"])
    session.invalidateAndCancel()
  }

  @Test(arguments: loaded) func whatALoadChangesIsTold(_ property: Property) async throws {
    let reply: @Sendable (RecordedRequest) -> Reply = {
      $0.path == "/from" ? .status(307, fields: [("Location", "/to")]) : .ok("hello")
    }
    try await withServer(reply) { server in
      let delegate = RecordingDelegate()
      let session = URLSession(configuration: .loopback)
      var request = URLRequest(url: server.url("/from"))
      request.httpMethod = "POST"
      let task = session.uploadTask(with: request, from: Data(count: 10))
      task.delegate = delegate
      let told = Gate()
      withObservationTracking {
        property.read(task)
      } onChange: {
        told.open()
      }
      task.resume()
      try await told.wait(within: patience)
      try await delegate.done.wait(within: patience)
      session.finishTasksAndInvalidate()
    }
  }

  /// An observer that reads after every change, as a view would, ends with what is true.
  @Test func whoReadsAfterEveryChangeSeesTheEnd() async throws {
    try await withServer({ _ in .ok([UInt8](repeating: 0, count: 1_000_000)) }) { server in
      let session = URLSession(configuration: .loopback)
      let ended = Gate()
      let task = session.dataTask(with: server.url()) { _, _, _ in ended.open() }
      let seen = Recorder<Int64>()
      @Sendable func observe() {
        let count = withObservationTracking {
          task.countOfBytesReceived
        } onChange: {
          observe()
        }
        seen.record(count)
      }
      observe()
      task.resume()
      try await ended.wait(within: patience)
      try await eventually("the whole") { seen.all.contains(1_000_000) }
      session.finishTasksAndInvalidate()
    }
  }

  /// A task that nobody watches pays nothing for it: the library reads past the properties.
  @Test func nothingIsMadeForTasksThatNobodyReads() async throws {
    try await withServer({ _ in .ok("hello") }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let tasks = [session.dataTask(with: server.url()), session.downloadTask(with: server.url())]
      for task in tasks { task.resume() }
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      for task in tasks {
        #expect(task.lockedState.withLock { $0.registrar == nil && $0.progress == nil })
        #expect(!task.isWatched)
      }
    }
  }

  /// Its state, error and response stay as they are.
  @Test func nothingIsMadeToWatchATaskThatHasEnded() async throws {
    try await withServer({ _ in .ok("hello") }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let task = session.dataTask(with: server.url())
      task.resume()
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      #expect(task.state == .completed && task.error == nil && task.response != nil)
      #expect(task.lockedState.withLock { $0.registrar == nil })
      // The app can still change this.
      #expect(task.taskDescription == nil)
      #expect(task.lockedState.withLock { $0.registrar != nil })
    }
  }
}
