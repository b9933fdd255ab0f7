import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// When protocols are stopped, where their methods are called, and that nothing of them stays.
@Suite struct ProtocolStopTests {
  enum Moment: CaseIterable, Sendable { case atStart, afterTheResponse, afterData, whileTheDelegateIsAsked }

  @Test(arguments: Moment.allCases) func aCancelledTaskStopsItsProtocolOnce(moment: Moment) async throws {
    let script = ProtocolScript { object in
      if moment != .atStart { object.respond() }
      if moment == .afterData { object.load("data") }
    }
    let delegate = RecordingDelegate()
    let answered = Gate()
    if moment == .whileTheDelegateIsAsked {
      delegate.onResponse = { task, _ in
        task.cancel()
        return nil
      }
    } else {
      delegate.onResponse = { _, _ in
        answered.open()
        return .allow
      }
    }
    let session = script.session(delegate)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try script.url("/cancelled"))
    task.resume()
    _ = try await script.requests.next()
    switch moment {
    case .atStart, .whileTheDelegateIsAsked: break
    case .afterTheResponse: try await answered.wait(within: patience)
    case .afterData: try await eventually("the data") { delegate.received.withLock { !$0.isEmpty } }
    }
    task.cancel()
    try await delegate.done.wait(within: patience)
    #expect(delegate.errors.all.map(\.code) == [.cancelled])
    #expect(try await script.stops.first(1) == ["/cancelled"])
    // Another load, behind which a second call would have come.
    let other = session.dataTask(with: try script.url("/other"))
    other.resume()
    _ = try await script.requests.first(2)
    other.cancel()
    #expect(try await script.stops.first(2) == ["/cancelled", "/other"])
  }

  @Test func aTaskThatIsCancelledBeforeItStartsMakesNoObject() async throws {
    let script = ProtocolScript { $0.answer("") }
    let delegate = RecordingDelegate()
    let session = script.session(delegate)
    let task = session.dataTask(with: try script.url())
    task.cancel()
    session.finishTasksAndInvalidate()
    try await delegate.invalid.wait(within: patience)
    #expect(script.requests.count == 0)
    #expect(script.stops.count == 0)
  }

  @Test func callsOfAStoppedProtocolDoNothing() async throws {
    let objects = Recorder<ScriptedProtocol>()
    let script = ProtocolScript { object in
      object.answer("text")
      objects.record(object)
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let (data, _) = try await session.data(from: try script.url())
    #expect(String(decoding: data, as: UTF8.self) == "text")
    _ = try await script.stops.first(1)
    let object = try await objects.next()
    object.answer("late")
    object.redirect(to: "/late")
    object.fail(URLError(.badURL))
    #expect(script.requests.count == 1)
    #expect(script.stops.count == 1)
  }

  /// Each method of an object is called on the one thread, whose run loop runs timers.
  @Test func anObjectLivesOnAThreadWithARunLoop() async throws {
    // Sendable by hand: used on its thread alone, which the test proves.
    final class Timed: URLProtocol, @unchecked Sendable {
      static let threads = Recorder<Int>()
      private var timer: Timer?

      override class func canInit(with request: URLRequest) -> Bool { true }

      private static func note() { threads.record(ObjectIdentifier(Thread.current).hashValue) }

      override func startLoading() {
        Timed.note()
        let timer = Timer(timeInterval: 0.02, repeats: false) { [unowned self] _ in
          Timed.note()
          client?.urlProtocolDidFinishLoading(self)
        }
        RunLoop.current.add(timer, forMode: .common)
        self.timer = timer
      }

      override func stopLoading() {
        Timed.note()
        timer?.invalidate()
      }
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Timed.self]
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "timed://host/"))
    _ = try await session.data(from: url)
    let threads = try await Timed.threads.first(3)
    #expect(Set(threads).count == 1)
  }

  /// A mock that waits in `startLoading()` for another load does not wait for ever.
  @Test func aProtocolMayWaitForAnotherLoadInStartLoading() async throws {
    let inner = ProtocolScript { $0.answer("inner") }
    let innerSession = inner.session()
    let innerURL = try inner.url()
    let outer = ProtocolScript { object in
      let done = DispatchSemaphore(value: 0)
      let texts = Recorder<String>()
      innerSession.dataTask(with: innerURL) { data, _, _ in
        texts.record(String(decoding: data ?? Data(), as: UTF8.self))
        done.signal()
      }.resume()
      done.wait()
      object.answer("outer, " + texts.all.joined())
    }
    let session = outer.session()
    defer {
      session.invalidateAndCancel()
      innerSession.invalidateAndCancel()
    }
    let (data, _) = try await session.data(from: try outer.url())
    #expect(String(decoding: data, as: UTF8.self) == "outer, inner")
  }

  private final class Weak: @unchecked Sendable {
    // Sendable by hand: a weak reference is read and written atomically.
    weak var object: AnyObject?
    weak var client: AnyObject?
  }

  @Test(arguments: ["/answered", "/failed", "/redirected", "/cancelled"])
  func theObjectAndItsLoadAreReleased(path: String) async throws {
    let references = Recorder<Weak>()
    let script = ProtocolScript { object in
      let reference = Weak()
      (reference.object, reference.client) = (object, object.client)
      references.record(reference)
      switch object.request.url?.path {
      case "/failed": object.fail(URLError(.badURL))
      case "/redirected": object.redirect(to: "/answered")
      case "/cancelled": object.respond()
      default: object.answer("text")
      }
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try script.url(path)) { _, _, _ in }
    task.resume()
    let reference = try await references.next()
    if path == "/cancelled" { task.cancel() }
    try await eventually("the object to be released") { reference.object == nil && reference.client == nil }
  }
}
