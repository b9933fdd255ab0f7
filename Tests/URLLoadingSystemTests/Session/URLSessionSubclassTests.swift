import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Subclasses of `URLSession`, as apps make them.
@Suite struct URLSessionSubclassTests {
  /// Overrides a designated initializer.
  private final class OverridingSession: URLSession, @unchecked Sendable {
    // Sendable by hand: a constant.
    let name: String

    override init(configuration: URLSessionConfiguration) {
      name = "overriding"
      super.init(configuration: configuration)
    }
  }

  /// Has initializers of its own.
  private final class NamedSession: URLSession, @unchecked Sendable {
    // Sendable by hand: a constant.
    let name: String

    init(name: String, configuration: URLSessionConfiguration) {
      self.name = name
      super.init(configuration: configuration)
    }

    init(name: String, configuration: URLSessionConfiguration, delegate: any URLSessionDelegate) {
      self.name = name
      super.init(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }
  }

  @Test func subclassesLoadAsSessionsDo() async throws {
    try await withServer({ .ok($0.path) }) { server in
      let delegate = RecordingDelegate()
      let sessions: [URLSession] = [
        OverridingSession(configuration: .loopback), NamedSession(name: "own", configuration: .loopback),
        NamedSession(name: "own", configuration: .loopback, delegate: delegate),
      ]
      for session in sessions {
        let (data, _) = try await session.data(from: server.url("/x"))
        #expect(String(decoding: data, as: UTF8.self) == "/x")
        session.invalidateAndCancel()
      }
      #expect((sessions[0] as? OverridingSession)?.name == "overriding")
      #expect((sessions[1] as? NamedSession)?.name == "own")
      #expect(delegate.events.all.contains("metrics"))
    }
  }
}
