import Foundation
import NIOCore
import Testing

@testable import URLLoadingSystem

/// Which calls of a protocol count, in which order, and as what.
@Suite struct ClientCallsTests {
  enum Call: Sendable { case response(String), data(String), finish, fail, cached(String), redirect, refused, close }

  static let rows: [(calls: [Call], expected: [String])] = [
    ([.response("r"), .data("a"), .data("b"), .finish], ["r", "a", "b", "end"]),
    ([.response("r"), .finish], ["r", "end"]),
    // Out of turn.
    ([.data("a"), .finish], ["made up", "a", "end"]),
    ([.finish], ["made up", "end"]),
    ([.response("r"), .data(""), .response("s"), .data("a"), .finish], ["r", "a", "end"]),
    ([.response("r"), .finish, .finish, .data("late"), .fail], ["r", "end"]),
    ([.fail, .response("r"), .finish], ["failure"]),
    ([.response("r"), .data("a"), .fail, .fail], ["r", "a", "failure"]),
    ([.data("a"), .response("r"), .finish], ["made up", "a", "end"]),
    // A stored response answers alone.
    ([.cached("c"), .response("r"), .data("a"), .finish], ["c", "body", "end"]),
    ([.response("r"), .cached("c"), .finish], ["r", "end"]),
    // A redirect that is followed closes the list; one that is refused is the response.
    ([.redirect, .close, .response("r"), .finish], []),
    ([.response("r"), .redirect, .finish], ["r", "end"]),
    ([.redirect, .redirect, .refused], ["redirect response", "end"]),
    ([.redirect, .refused, .response("r"), .finish], ["redirect response", "end"]),
    ([.redirect, .response("r"), .data("a"), .refused, .finish], ["r", "a", "end"]),
    ([.redirect, .data("a"), .finish, .refused], ["redirect response", "a", "end"]),
    ([.redirect, .close, .refused], []),
    ([.redirect, .fail, .refused], ["redirect response", "end"]),
  ]

  @Test(arguments: rows) func countsWhatIsInTurn(row: (calls: [Call], expected: [String])) throws {
    let url = try #require(URL(string: "http://made.up/"))
    var calls = ClientCalls(for: url)
    for call in row.calls {
      switch call {
      case .response(let name): calls.receive(response(name), .allowed)
      case .data(let text): calls.receive(ByteBuffer(string: text))
      case .finish: calls.finish()
      case .fail: calls.fail(URLError(.badURL))
      case .cached(let name): calls.answer(response(name), [ByteBuffer(string: "body")])
      case .redirect: calls.redirect(to: URLRequest(url: url), by: response("redirect response"))
      case .close: calls.close()
      case .refused:
        // The load has taken the redirect.
        if calls.hasMore, case .redirect = calls.next() {} else { #expect(!calls.hasMore) }
        calls.redirectIsRefused()
      }
    }
    var found: [String] = []
    while let item = calls.next() {
      switch item {
      case .response(let response, _): found.append(response.url == url ? "made up" : response.mimeType ?? "")
      case .bytes(let bytes): found.append(String(buffer: bytes))
      case .stored(let count): found.append("stored \(count)")
      case .end: found.append("end")
      case .failure: found.append("failure")
      case .redirect: found.append("redirect")
      }
    }
    #expect(found == row.expected)
  }

  private func response(_ name: String) -> URLResponse { URLResponse(url: nil, declaredMIMEType: name) }

  /// Chunks have a cost of their own: many small ones are not free.
  @Test(arguments: [1, 1_000, 1 << 20]) func theRoomInMemoryHasALimit(count: Int) {
    var calls = ClientCalls(for: nil)
    let chunk = ByteBuffer(repeating: 7, count: count)
    var taken = 0
    while calls.hasRoom(for: chunk) {
      calls.receive(chunk)
      taken += 1
    }
    #expect(calls.inMemory <= ClientCalls.mostInMemory && taken * (count + 200) >= ClientCalls.mostInMemory / 2)
    // What is taken makes room; what goes to the file needs none, and is one step.
    for _ in 0..<10 { calls.receive(stored: count) }
    #expect(!calls.hasRoom(for: chunk))
    _ = calls.next()
    _ = calls.next()
    #expect(calls.hasRoom(for: chunk))
    calls.finish()
    var (stored, ends) = (0, 0)
    while let item = calls.next() {
      if case .stored(let count) = item { stored = count }
      if case .end = item { ends += 1 }
    }
    #expect(stored == 10 * count && ends == 1 && calls.inMemory == 0)
  }
}
