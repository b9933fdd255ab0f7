import HTTPSemantics
import Testing

struct FramingCase: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var method = "GET"
  var status = 200
  var fields: HTTPFields = [:]
  var outcome: Result<ResponseFraming, FramingError>

  static let all: [FramingCase] = [
    // RFC 9112 §6.3 item 1
    .init(testDescription: "HEAD", method: "HEAD", fields: ["Content-Length": "5"], outcome: .success(.none)),
    .init(
      testDescription: "HEAD, chunked", method: "HEAD", fields: ["Transfer-Encoding": "chunked"],
      outcome: .success(.none)),
    .init(testDescription: "100", status: 100, fields: ["Content-Length": "5"], outcome: .success(.none)),
    .init(testDescription: "101", status: 101, outcome: .success(.none)),
    .init(testDescription: "204", status: 204, fields: ["Content-Length": "5"], outcome: .success(.none)),
    .init(testDescription: "304", status: 304, fields: ["Content-Length": "5"], outcome: .success(.none)),
    .init(
      testDescription: "205 has a body", status: 205, fields: ["Content-Length": "0"], outcome: .success(.length(0))),
    .init(testDescription: "a lower-case head is another method", method: "head", outcome: .success(.untilClose)),
    // item 2
    .init(
      testDescription: "a tunnel", method: "CONNECT", fields: ["Content-Length": "5"], outcome: .success(.none)),
    .init(
      testDescription: "a refused tunnel", method: "CONNECT", status: 407, fields: ["Content-Length": "5"],
      outcome: .success(.length(5))),
    // item 3
    .init(
      testDescription: "both", fields: ["Content-Length": "5", "Transfer-Encoding": "chunked"],
      outcome: .failure(.lengthWithTransferEncoding)),
    .init(
      testDescription: "both, the other way round", fields: ["Transfer-Encoding": "chunked", "Content-Length": "5"],
      outcome: .failure(.lengthWithTransferEncoding)),
    .init(
      testDescription: "identity and a length", fields: ["Transfer-Encoding": "identity", "Content-Length": "5"],
      outcome: .failure(.lengthWithTransferEncoding)),
    // item 4
    .init(testDescription: "chunked", fields: ["transfer-encoding": " Chunked "], outcome: .success(.chunked)),
    .init(
      testDescription: "identity, then chunked", fields: ["Transfer-Encoding": "identity, chunked"],
      outcome: .success(.chunked)),
    .init(testDescription: "identity", fields: ["Transfer-Encoding": "Identity"], outcome: .success(.untilClose)),
    .init(
      testDescription: "gzip, chunked", fields: ["Transfer-Encoding": "gzip, chunked"],
      outcome: .failure(.unsupportedTransferEncoding)),
    .init(
      testDescription: "gzip", fields: ["Transfer-Encoding": "gzip"], outcome: .failure(.unsupportedTransferEncoding)),
    .init(testDescription: "unknown", fields: ["Transfer-Encoding": "rot13"], outcome: .success(.untilClose)),
    .init(
      testDescription: "unknown, with a length", fields: ["Transfer-Encoding": "rot13", "Content-Length": "3"],
      outcome: .failure(.lengthWithTransferEncoding)),
    .init(
      testDescription: "unknown, then chunked", fields: ["Transfer-Encoding": "rot13, chunked"],
      outcome: .failure(.unsupportedTransferEncoding)),
    .init(
      testDescription: "chunked with a parameter", fields: ["Transfer-Encoding": "chunked;q=1"],
      outcome: .failure(.unsupportedTransferEncoding)),
    .init(
      testDescription: "chunked with a vertical tab", fields: ["Transfer-Encoding": "\u{B}chunked"],
      outcome: .failure(.unsupportedTransferEncoding)),
    .init(
      testDescription: "chunked twice", fields: ["Transfer-Encoding": "chunked, chunked"],
      outcome: .failure(.invalidTransferEncoding)),
    .init(
      testDescription: "two chunked fields", fields: ["Transfer-Encoding": "chunked", "Transfer-encoding": "chunked"],
      outcome: .failure(.invalidTransferEncoding)),
    .init(
      testDescription: "chunked, then identity", fields: ["Transfer-Encoding": "chunked, identity"],
      outcome: .failure(.invalidTransferEncoding)),
    .init(
      testDescription: "an empty coding", fields: ["Transfer-Encoding": ""],
      outcome: .failure(.invalidTransferEncoding)),
    // item 5
    .init(
      testDescription: "lengths that differ", fields: ["Content-Length": "5, 6"], outcome: .failure(.conflictingLengths)
    ),
    .init(
      testDescription: "length fields that differ", fields: ["Content-Length": "5", "content-length": "6"],
      outcome: .failure(.conflictingLengths)),
    .init(
      testDescription: "a list, then another length", fields: ["Content-Length": "5, 5", "content-length": "6"],
      outcome: .failure(.conflictingLengths)),
    .init(testDescription: "one length repeated", fields: ["Content-Length": "5, 5"], outcome: .success(.length(5))),
    .init(
      testDescription: "one length in two fields", fields: ["Content-Length": "5", "Content-length": "5"],
      outcome: .success(.length(5))),
    .init(testDescription: "negative", fields: ["Content-Length": "-1"], outcome: .failure(.invalidLength)),
    .init(testDescription: "signed", fields: ["Content-Length": "+1"], outcome: .failure(.invalidLength)),
    .init(testDescription: "hexadecimal", fields: ["Content-Length": "0x10"], outcome: .failure(.invalidLength)),
    .init(testDescription: "empty", fields: ["Content-Length": ""], outcome: .failure(.invalidLength)),
    .init(testDescription: "two words", fields: ["Content-Length": "5 5"], outcome: .failure(.invalidLength)),
    .init(testDescription: "an empty member", fields: ["Content-Length": "5,"], outcome: .failure(.invalidLength)),
    .init(
      testDescription: "over 63 bits", fields: ["Content-Length": "9223372036854775808"],
      outcome: .failure(.invalidLength)),
    // items 6 and 8
    .init(
      testDescription: "63 bits", fields: ["CONTENT-LENGTH": "9223372036854775807"], outcome: .success(.length(.max))),
    .init(testDescription: "zero", fields: ["Content-Length": "0"], outcome: .success(.length(0))),
    .init(testDescription: "nothing", outcome: .success(.untilClose)),
  ]
}

@Suite struct ResponseFramingTests {
  @Test(arguments: FramingCase.all)
  func framingFollowsTheRFC(_ row: FramingCase) {
    let head = HTTPResponseHead(status: row.status, fields: row.fields)
    let outcome = Result { () throws(FramingError) in try ResponseFraming.decide(method: row.method, head: head) }
    #expect(outcome == row.outcome)
  }

  @Test func everyErrorHasASentence() {
    #expect(Set(FramingError.allCases.map(\.sentence)).count == FramingError.allCases.count)
  }
}
