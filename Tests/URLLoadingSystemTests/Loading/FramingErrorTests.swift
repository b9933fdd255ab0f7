import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// A response whose framing is wrong, and the error it must end in.
struct BrokenResponse: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let bytes: String
  let code: URLError.Code
  var ending = ReplyEnding.closeGracefully

  init(_ description: String, _ bytes: String, _ code: URLError.Code, ending: ReplyEnding = .closeGracefully) {
    testDescription = description
    self.bytes = bytes
    self.code = code
    self.ending = ending
  }

  static let all: [BrokenResponse] = [
    BrokenResponse(
      "conflicting lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
      .cannotParseResponse),
    BrokenResponse(
      "a length and a coding",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      .cannotParseResponse),
    BrokenResponse("a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .cannotParseResponse),
    BrokenResponse(
      "a transfer coding that was not offered", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
      .cannotParseResponse),
    BrokenResponse("no status line", "It works!\r\n\r\n", .cannotParseResponse),
    BrokenResponse(
      "a protocol that nobody asked for", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
      .cannotParseResponse),
    BrokenResponse("a field without a colon", "HTTP/1.1 200 OK\r\nNonsense\r\n\r\n", .cannotParseResponse),
    BrokenResponse("a chunk size that is none", chunked("zz\r\nabc\r\n0\r\n\r\n"), .cannotParseResponse),
    BrokenResponse("a chunk longer than its size", chunked("2\r\nabc\r\n0\r\n\r\n"), .cannotParseResponse),
    BrokenResponse("a body cut short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .networkConnectionLost),
    BrokenResponse("chunks without an end", chunked("3\r\nabc\r\n"), .networkConnectionLost),
    BrokenResponse("a head cut short", "HTTP/1.1 200 OK\r\nContent-Le", .networkConnectionLost),
    BrokenResponse("nothing at all", "", .networkConnectionLost),
    BrokenResponse(
      "a reset in the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .networkConnectionLost,
      ending: .reset),
    BrokenResponse(
      "a head without end", "HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 1_200_000) + "\r\n\r\n",
      .dataLengthExceedsMaximum),
    BrokenResponse(
      "too many fields", "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 6_000) + "\r\n",
      .dataLengthExceedsMaximum),
  ]

  private static func chunked(_ body: String) -> String {
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
  }
}

@Suite struct FramingErrorTests {
  @Test(arguments: BrokenResponse.all)
  func endsInItsError(_ broken: BrokenResponse) async throws {
    try await withServer({ _ in .raw(broken.bytes, ending: broken.ending) }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/broken")) }
      #expect(error?.code == broken.code, "\(String(describing: error))")
      #expect(error?.failingURL == server.url("/broken"))
    }
  }

  /// What follows a complete response answers nothing: it is dropped with its connection.
  @Test func bytesAfterTheResponseAreNotTheNextOne() async throws {
    let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    try await withServer({ request in
      request.target == "/first" ? .raw(smuggled, ending: nil) : .ok("good")
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let (first, _) = try await session.data(from: server.url("/first"))
      #expect(String(decoding: first, as: UTF8.self) == "ok")
      let (second, _) = try await session.data(from: server.url("/second"))
      #expect(String(decoding: second, as: UTF8.self) == "good")
      #expect(server.connectionCount == 2)
    }
  }
}
