import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTP1ResponseMemoryTests {
  private let memory = HTTP1ResponseMemory()

  /// The head and the body of a response that arrives in these pieces, and the length of the head.
  private func parse(
    _ pieces: String..., method: String = "GET"
  ) throws -> (head: HTTPResponseHead?, body: String, headerBytes: Int) {
    var parser = HTTP1ResponseParser(memory: memory)
    var input = ByteBuffer()
    var head: HTTPResponseHead?
    var body = ""
    parser.expect(method: method)
    for piece in pieces {
      input.writeString(piece)
      while let event = try parser.parse(&input) {
        switch event {
        case .head(let final): head = final
        case .body(let bytes): body += String(buffer: bytes)
        case .end: break
        }
      }
    }
    #expect(parser.isBetweenMessages && input.readableBytes == 0)
    return (head, body, parser.headerBytes)
  }

  private static let head = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 3\r\n\r\n"

  @Test func headThatComesAgainIsTheSameOne() throws {
    // The first one may never come again.
    let unique = try #require(try parse(Self.head + "one").head)
    let first = try parse(Self.head + "one")
    #expect(try !unique.fields.isIdentical(to: #require(first.head).fields))
    let second = try parse(Self.head + "two")
    #expect(first.head == second.head && second.head?.fields == ["A": "b", "Content-Length": "3"])
    #expect(first.body == "one" && second.body == "two")
    #expect(first.headerBytes == Self.head.utf8.count && second.headerBytes == first.headerBytes)
    #expect(try #require(first.head).fields.isIdentical(to: try #require(second.head).fields))
    // What follows from the request is decided anew.
    #expect(try parse(Self.head, method: "HEAD").body.isEmpty)
  }

  @Test func otherHeadsAndOtherPiecesAreParsed() throws {
    for _ in 0..<2 { _ = try parse(Self.head + "one") }
    for cut in 1..<Self.head.utf8.count {
      let parts = (String(Self.head.prefix(cut)), String(Self.head.dropFirst(cut)))
      #expect(try parse(parts.0, parts.1 + "one").head?.fields == ["A": "b", "Content-Length": "3"])
    }
    let other = Self.head.replacing("A: b", with: "A: c")
    #expect(try parse(other + "one").head?.fields["A"] == "c")
    #expect(try parse("HTTP/1.1 103\r\n\r\n" + Self.head + "one").head?.status == 200)
    #expect(try parse("\r\n" + Self.head + "one").headerBytes == Self.head.utf8.count + 2)
    #expect(try parse(Self.head + "one").headerBytes == Self.head.utf8.count)
  }

  @Test(arguments: ["Set-Cookie: a=b", "set-cookie2: a=b", "A: " + String(repeating: "b", count: 3_000)])
  func headIsNotKept(_ line: String) throws {
    let head = "HTTP/1.1 204 No Content\r\n\(line)\r\n\r\n"
    _ = try parse(head)
    let (first, second) = (try #require(try parse(head).head), try #require(try parse(head).head))
    #expect(first == second && !first.fields.isIdentical(to: second.fields))
  }
}
