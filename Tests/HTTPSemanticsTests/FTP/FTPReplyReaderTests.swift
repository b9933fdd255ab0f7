import HTTPSemantics
import Testing

@Suite struct FTPReplyReaderTests {
  /// Reads everything that `text` has, in pieces of `size`.
  private func read(_ text: String, pieces size: Int) -> (replies: [FTPReply], end: FTPReplyReader.Malformation?) {
    var reader = FTPReplyReader()
    var replies: [FTPReply] = []
    let bytes = Array(text.utf8)
    do throws(FTPReplyReader.Malformation) {
      for start in stride(from: 0, to: bytes.count, by: size) {
        reader.append(bytes[start..<min(start + size, bytes.count)])
        while let reply = try reader.next() { replies.append(reply) }
      }
    } catch { return (replies, error) }
    return (replies, nil)
  }

  private static let longLine = String(repeating: "x", count: FTPReplyReader.longestLine - 4)

  @Test(
    arguments: [
      ("220 ready\r\n", ["220 ready"]), ("220 ready\n", ["220 ready"]), ("220\r\n", ["220"]), ("220 \r\n", ["220"]),
      ("220 a\r\n331 b\r\n", ["220 a", "331 b"]), ("220 not yet", []), ("", []),
      ("220-one\r\n220 two\r\n", ["220 one|two"]),
      ("220-one\r\ntwo\r\n three\r\n220 four\r\n", ["220 one|two| three|four"]),
      // Codes inside do not end it, be they others' or its own with a hyphen.
      ("211-a\r\n220 b\r\n211-c\r\n 211 d\r\n211 e\r\n", ["211 a|220 b|c| 211 d|e"]),
      ("220-\r\n\r\n220 \r\n", ["220 ||"]), ("150-a\n150 b\n226 c\n", ["150 a|b", "226 c"]),
      ("220 \(longLine)\r\n", ["220 \(longLine)"]),
    ] as [(String, [String])], [1, 2, 7, 100_000])
  func repliesAreParsed(_ test: (text: String, replies: [String]), pieces: Int) {
    let (replies, end) = read(test.text, pieces: pieces)
    #expect(end == nil)
    let shown = replies.map { reply in
      let text = reply.lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "|")
      return text.isEmpty ? "\(reply.code)" : "\(reply.code) \(text)"
    }
    #expect(shown == test.replies)
  }

  @Test(
    arguments: [
      ("SSH-2.0-x\r\n", .notAReply(line: Array("SSH-2.0-x".utf8))), ("\r\n", .notAReply(line: [])),
      ("22 x\r\n", .notAReply(line: Array("22 x".utf8))), ("099 x\r\n", .notAReply(line: Array("099 x".utf8))),
      ("600 x\r\n", .notAReply(line: Array("600 x".utf8))), ("2200 x\r\n", .notAReply(line: Array("2200 x".utf8))),
      ("220\tx\r\n", .notAReply(line: Array("220\tx".utf8))), ("220 \(longLine)x\r\n", .lineTooLong),
      ("220 \(longLine)xx", .lineTooLong), ("220-\(longLine)\r\n\(longLine)xxxxx\r\n", .lineTooLong),
      (String(repeating: "220-\r\n", count: FTPReplyReader.mostLines + 1), .replyTooLong),
      (String(repeating: "220-\(longLine)\r\n", count: 40), .replyTooLong),
    ] as [(String, FTPReplyReader.Malformation)], [1, 1_000, 10_000_000])
  func invalidRepliesAreRefused(_ test: (text: String, error: FTPReplyReader.Malformation), pieces: Int) {
    let (replies, end) = read(test.text, pieces: pieces)
    #expect(replies.isEmpty && end == test.error)
  }

  @Test func errorIsRepeatedAfterwards() {
    var reader = FTPReplyReader()
    reader.append(Array("hello\r\n220 ready\r\n".utf8))
    for _ in 0..<2 { #expect(throws: FTPReplyReader.Malformation.self) { _ = try reader.next() } }
    reader.append(Array("220 ready\r\n".utf8))
    #expect(throws: FTPReplyReader.Malformation.self) { _ = try reader.next() }
  }

  @Test func textIsSafeToDisplay() {
    let reply = FTPReply(code: 550, lines: [Array("a\u{1b}[31m\u{7}b".utf8) + [0xff]])
    #expect(reply.sentence == "550 a[31mb\u{fffd}")
    #expect(FTPReply(code: 550, lines: [[]]).sentence == "550")
    #expect(FTPReply(code: 550, lines: [Array(repeating: 0x61, count: 5_000)]).sentence.utf8.count == 204)
  }

  // MARK: Values

  private func reply(_ code: Int, _ text: String) -> FTPReply { FTPReply(code: code, lines: [Array(text.utf8)]) }

  @Test(
    arguments: [
      (229, "Entering Extended Passive Mode (|||6446|)", 6446), (229, "(!!!1!)", 1), (229, "ok (|||65535|).", 65_535),
      (229, "(|||0|)", nil), (229, "(|||65536|)", nil), (229, "(||6446|)", nil), (229, "|||6446|", nil),
      (229, "(|||6446)", nil), (229, "(|1|10.0.0.1|6446|)", 6446), (229, "(111644611)", nil), (229, "(", nil),
      (229, "()", nil), (229, "(|||-5|)", nil), (229, "(|||99999999999999999999|)", nil), (227, "(|||6446|)", nil),
    ] as [(Int, String, Int?)])
  func extendedPassivePorts(code: Int, text: String, port: Int?) {
    #expect(reply(code, text).extendedPassivePort == port)
  }

  @Test(
    arguments: [
      (227, "Entering Passive Mode (10,0,0,1,4,1)", 1025), (227, "=127,0,0,1,255,255", 65_535),
      (227, "Entering 1,2,3,4,0,21.", 21), (227, "(1,2,3,4,0,0)", nil), (227, "(1,2,3,4,256,1)", nil),
      (227, "(1,2,3,4,5)", nil), (227, "(1,2,3,4,5,6,7)", nil), (227, "(1,2,3,,5,6)", nil), (227, "none", nil),
      (229, "(1,2,3,4,5,6)", nil),
    ] as [(Int, String, Int?)])
  func passivePorts(code: Int, text: String, port: Int?) { #expect(reply(code, text).passivePort == port) }

  @Test(
    arguments: [
      (213, "12", 12), (213, "0 ", 0), (213, "9223372036854775807", .max), (213, "9223372036854775808", nil),
      (213, "-1", nil), (213, "", nil), (213, "12 bytes", nil), (200, "12", nil),
    ] as [(Int, String, Int64?)])
  func sizes(code: Int, text: String, size: Int64?) { #expect(reply(code, text).size == size) }
}
