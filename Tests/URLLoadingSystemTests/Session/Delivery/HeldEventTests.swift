import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// What a delegate hears of a task that it is being asked about: nothing, until it has answered.
@Suite struct HeldEventTests {
  private final class Silent: NSObject, URLSessionTaskDelegate {}
  private final class Client: LoadClient {}

  @Test(arguments: [false, true]) func eventsAndQuestionsKeepTheirOrder(theSecondIsGivenUp: Bool) async throws {
    let session = URLSession(configuration: .ephemeral, delegate: Silent(), delegateQueue: serialQueue())
    let task = session.dataTask(with: try textURL("x"))
    let delivery = try #require(session.makeDelivery(for: task))
    let transport = HTTPTransport(configuration: TransportConfiguration())
    let heard = Recorder<String>()
    let ended = Recorder<String>()
    let handlers = Recorder<@Sendable (Int) -> Void>()
    let contexts = (0..<2).map { _ in
      LoadContext(for: nil, configuration: LoadConfiguration(), transport: transport, client: Client())
    }
    func ask(_ name: String, _ context: LoadContext) {
      context.start { context in
        let answer = try? await delivery.ask(.taskChallenge, fallback: 0, control: context.control) { _, answer in
          heard.record(name)
          handlers.record(answer)
        }
        ended.record("\(name) \(answer.flatMap { $0 } ?? 0)")
      }
    }
    func post(_ name: String) async throws {
      try await contexts[0].loop.submit { delivery.post { heard.record(name) } }.get()
    }
    try await post("before")
    ask("first", contexts[0])
    let first = try await handlers.next()
    try await post("between")
    ask("second", contexts[1])
    try await post("after")
    #expect(heard.all == ["before", "first"])
    if theSecondIsGivenUp {
      contexts[1].control.abort(URLError(.cancelled))
      #expect(try await ended.next() == "second 0")
      first(1)
      #expect(try await heard.first(4) == ["before", "first", "between", "after"])
    } else {
      first(1)
      let second = try await handlers.next()
      #expect(try await ended.next() == "first 1")
      #expect(heard.all == ["before", "first", "between", "second"])
      second(2)
      #expect(try await heard.first(5).last == "after")
    }
    // Nothing comes after the end.
    try await contexts[0].loop.submit {
      delivery.end { heard.record("end") }
      delivery.post { heard.record("late") }
    }.get()
    session.invalidateAndCancel()
    try await eventually("the end") { heard.all.last == "end" }
    #expect(!heard.all.contains("late"))
  }

  /// The end comes behind the events that wait for an answer, and drops the questions that do.
  @Test func theEndComesAfterTheHeldEvents() async throws {
    let session = URLSession(configuration: .ephemeral, delegate: Silent(), delegateQueue: serialQueue())
    let task = session.dataTask(with: try textURL("x"))
    let delivery = try #require(session.makeDelivery(for: task))
    let transport = HTTPTransport(configuration: TransportConfiguration())
    let context = LoadContext(for: nil, configuration: LoadConfiguration(), transport: transport, client: Client())
    let heard = Recorder<String>()
    let handlers = Recorder<@Sendable (Int) -> Void>()
    context.start { context in
      _ = try? await delivery.ask(.taskChallenge, fallback: 0, control: context.control) { _, answer in
        heard.record("question")
        handlers.record(answer)
      }
    }
    let answer = try await handlers.next()
    try await context.loop.submit {
      delivery.post { heard.record("first") }
      delivery.post { heard.record("second") }
      delivery.end { heard.record("end") }
    }.get()
    #expect(try await heard.first(4) == ["question", "first", "second", "end"])
    answer(1)
    session.invalidateAndCancel()
  }
}
