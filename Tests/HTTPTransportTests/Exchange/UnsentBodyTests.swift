import Testing

@testable import HTTPTransport

@Suite struct UnsentBodyTests {
  @Test func aBodyIsAsLongAsAnnounced() throws {
    var body = UnsentBody(.length(5))
    try body.give(3)
    #expect(!body.isComplete)
    #expect(throws: TransportError.self) { try body.end() }
    #expect(throws: TransportError.self) { try body.give(3) }
    try body.give(2)
    #expect(body.isComplete)
    try body.end()
  }

  @Test func aBodyWithoutLengthEndsAnywhere() throws {
    var body = UnsentBody(.chunked)
    try body.give(3)
    #expect(!body.isComplete)
    try body.end()
  }

  @Test func aRequestWithoutBodyTakesNoBytes() {
    var body = UnsentBody(.none)
    #expect(!body.isComplete)
    #expect(throws: TransportError.self) { try body.give(1) }
  }
}
