import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTP1HeadMemoryTests {
  private func head(_ target: String = "/", _ fields: HTTPFields = ["Accept": "*/*"]) -> HTTPRequestHead {
    HTTPRequestHead(method: "GET", target: target, authority: "h.org", scheme: "http", fields: fields)
  }

  private func encoded(_ head: HTTPRequestHead) throws -> String {
    var buffer = ByteBuffer()
    try HTTP1RequestEncoder.encode(head, framing: .none, into: &buffer)
    return String(buffer: buffer)
  }

  @Test func headThatIsSentAgainIsNotEncodedAgain() throws {
    var memory = HTTP1HeadMemory()
    var made = 0
    for head in [head(), head(), head("/b"), head("/b"), head("/b", ["Accept": "a/b"]), head()] {
      let bytes = try memory.encode(head) {
        made += 1
        return ByteBuffer()
      }
      #expect(String(buffer: bytes) == (try encoded(head)))
    }
    #expect(made == 4)
  }

  /// Requests without fields of their own share a list.
  @Test func fieldsOfOneListAreTheSame() throws {
    let shared: HTTPFields = ["Accept": "*/*", "User-Agent": "a"]
    var (copy, longer) = (shared, shared)
    #expect(shared.isIdentical(to: copy))
    copy.fields.reserveCapacity(100)
    #expect(!shared.isIdentical(to: copy) && shared == copy)
    longer.append("Accept-Language", "de")
    #expect(!shared.isIdentical(to: longer))
    #expect(HTTPFields().isIdentical(to: HTTPFields()))
    var memory = HTTP1HeadMemory()
    var made = 0
    for fields in [shared, shared, copy, longer, longer] {
      let bytes = try memory.encode(head("/", fields)) {
        made += 1
        return ByteBuffer()
      }
      #expect(String(buffer: bytes) == (try encoded(head("/", fields))))
    }
    #expect(made == 2)
  }

  @Test func refusedHeadLeavesTheLastOne() throws {
    var memory = HTTP1HeadMemory()
    _ = try memory.encode(head()) { ByteBuffer() }
    #expect(throws: FieldValidation.Refusal.self) { try memory.encode(head("/a b")) { ByteBuffer() } }
    #expect(memory.last == head())
  }

  /// Swift takes the two for equal.
  @Test func headsWhoseBytesDifferAreTwo() throws {
    var memory = HTTP1HeadMemory()
    for type in ["caf\u{e9}/a", "cafe\u{301}/a"] {
      let head = head("/", ["Accept": type])
      #expect(String(buffer: try memory.encode(head) { ByteBuffer() }).utf8.elementsEqual(try encoded(head).utf8))
    }
  }

  @Test(arguments: ["Authorization", "cookie", "Proxy-Authorization", "X-Api-Key"])
  func headsWithCredentialsAreNotKept(_ name: String) throws {
    var memory = HTTP1HeadMemory()
    var fields = HTTPFields()
    fields.append(name, "secret")
    _ = try memory.encode(head("/", fields)) { ByteBuffer() }
    #expect(memory.last == nil)
    for target in ["/" + String(repeating: "a", count: 3_000), "/?token=secret"] {
      _ = try memory.encode(head(target)) { ByteBuffer() }
      #expect(memory.last == nil)
    }
  }
}
