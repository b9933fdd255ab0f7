import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

extension URLSession.TransferEvent {
  fileprivate var text: String {
    switch kind {
    case .created: "created"
    case .running: "running"
    case .waiting(let reason): "waiting \(reason.kind)"
    case .progress(let counts): "progress \(counts.received)"
    case .finished: "finished"
    case .failed(let error): "failed \((error as? URLError)?.code.rawValue ?? 0)"
    }
  }
}

/// The events of a session as a sequence.
@Suite struct TransferEventsTests {
  private func texts(of events: URLSession.TransferEvents) async -> [String] {
    var texts: [String] = []
    for await event in events { texts.append(event.text) }
    return texts
  }

  @Test func aSessionTellsOfItsTasksUntilItIsInvalid() async throws {
    try await withServer({ _ in .ok("abc") }) { server in
      let session = URLSession(configuration: .loopback)
      let (first, second) = (session.transferEvents, session.transferEvents)
      let task = session.dataTask(with: server.url())
      task.resume()
      session.finishTasksAndInvalidate()
      let (told, again) = await (texts(of: first), texts(of: second))
      #expect(told.first == "created" && told.last == "finished")
      #expect(told.contains("running") && told.contains("progress 3"))
      #expect(again.first == "created" && again.last == "finished", "each consumer has all events")
      var late = session.transferEvents.makeAsyncIterator()
      #expect(await late.next() == nil)
    }
  }

  @Test func cancelledAndUnstartedTasksFail() async throws {
    let session = URLSession(configuration: .ephemeral)
    let events = session.transferEvents
    let task = session.downloadTask(with: try textURL("x"))
    task.cancel()
    session.finishTasksAndInvalidate()
    let told = await texts(of: events)
    #expect(told == ["created", "failed -999"], "\(told)")
  }

  /// The consumer comes after the task.
  @Test func tasksThatExistAreToldOf() async throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try textURL("x"))
    let events = session.transferEvents
    task.resume()
    session.finishTasksAndInvalidate()
    let told = await texts(of: events)
    #expect(told.last == "finished" && !told.contains("created"))
  }

  @Test func asyncCallsAreToldOf() async throws {
    let session = URLSession(configuration: .ephemeral)
    let events = session.transferEvents
    _ = try await session.data(from: try textURL("x"))
    session.finishTasksAndInvalidate()
    let told = await texts(of: events)
    #expect(told.first == "created" && told.last == "finished")
  }

  @Test func aSessionThatIsDroppedEndsTheSequence() async throws {
    var session: URLSession? = URLSession(configuration: .ephemeral)
    let events = try #require(session?.transferEvents)
    session = nil
    #expect(await texts(of: events) == [])
  }

  // MARK: The consumer

  private static func tasks(_ count: Int) throws -> (URLSession, [URLSessionTask]) {
    let session = URLSession(configuration: .ephemeral)
    let url = try textURL("x")
    return (session, (0..<count).map { _ in session.dataTask(with: url) })
  }

  private static func progress(_ count: Int64) -> URLSession.TransferEvent.Kind {
    .progress(.init(received: count, expectedToReceive: -1, sent: 0, expectedToSend: 0))
  }

  @Test func theLatestProgressIsLeftAndNoEndIsLost() async throws {
    let hub = TransferEventHub()
    let consumer = hub.makeConsumer()
    let (session, tasks) = try Self.tasks(2)
    for task in tasks {
      hub.send(.created, of: task)
      hub.send(.running, of: task)
      for count in 1...10_000 { hub.send(Self.progress(Int64(count)), of: task) }
      hub.send(.waiting(.network), of: task)
      hub.send(.finished, of: task)
    }
    hub.finish()
    var told: [String] = []
    while let event = await consumer.next() { told.append("\(event.task === tasks[0] ? 0 : 1) \(event.text)") }
    let expected = ["created", "waiting network", "progress 10000", "finished"]
    #expect(told == expected.map { "0 " + $0 } + expected.map { "1 " + $0 })
    session.invalidateAndCancel()
  }

  @Test func aConsumerThatWaitsGetsTheNextEvent() async throws {
    let hub = TransferEventHub()
    let consumer = hub.makeConsumer()
    let (session, tasks) = try Self.tasks(1)
    async let next = consumer.next()
    hub.send(.running, of: tasks[0])
    #expect(await next?.text == "running")
    session.invalidateAndCancel()
  }

  @Test func aCancelledWaitEnds() async throws {
    let hub = TransferEventHub()
    let consumer = hub.makeConsumer()
    let wait = Task { await consumer.next() == nil }
    wait.cancel()
    #expect(await wait.value)
    // The consumer is of use still.
    let (session, tasks) = try Self.tasks(1)
    hub.send(.created, of: tasks[0])
    #expect(await consumer.next()?.text == "created")
    session.invalidateAndCancel()
  }

  @Test func aConsumerThatIsGoneIsForgotten() {
    let hub = TransferEventHub()
    var consumer: TransferEventConsumer? = hub.makeConsumer()
    #expect(hub.hasConsumers && consumer != nil)
    consumer = nil
    #expect(!hub.hasConsumers)
  }
}
