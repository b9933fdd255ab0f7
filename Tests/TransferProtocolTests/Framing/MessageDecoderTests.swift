import Foundation
import Testing
import TransferProtocol

@Suite struct MessageDecoderTests {
  static let messages = [
    ClientMessage(id: 1, request: .hello(Hello(client: "tests/1"))),
    ClientMessage(id: 2, request: .version),
    ClientMessage(id: .max, request: .attach(Attach(session: "größe 😀"))),
  ]

  private func stream() throws -> Data {
    try Self.messages.reduce(into: Data()) { $0.append(try MessageFraming.frame($1)) }
  }

  @Test(arguments: [1, 2, 3, 5, 64, 100_000])
  func cutsTheStreamWhateverThePieces(pieceLength: Int) throws {
    var decoder = MessageDecoder<ClientMessage>()
    var decoded: [ClientMessage] = []
    let stream = try stream()
    for start in Swift.stride(from: 0, to: stream.count, by: pieceLength) {
      decoder.append(stream.dropFirst(start).prefix(pieceLength))
      while let message = try decoder.next() {
        decoded.append(message)
        #expect(try decoder.lastLength == MessageFraming.encode(message).count)
      }
    }
    #expect(decoded == Self.messages)
    #expect(decoder.bufferedCount == 0)
  }

  @Test func aLowerLimitHoldsUntilItIsRaised() throws {
    let frame = try MessageFraming.frame(Self.messages[0])
    var decoder = MessageDecoder<ClientMessage>(lengthLimit: frame.count - 4)
    decoder.append(frame)
    #expect(try decoder.next() == Self.messages[0])
    decoder.lengthLimit = frame.count - 5
    decoder.append(frame.prefix(4))
    let error = MessageFramingError.aboveLimit(frame.count - 4, limit: frame.count - 5)
    #expect(throws: error) { try decoder.next() }
  }

  @Test func waitsForTheRestOfAMessage() throws {
    var decoder = MessageDecoder<ClientMessage>()
    let frame = try MessageFraming.frame(Self.messages[0])
    decoder.append(frame.dropLast())
    #expect(try decoder.next() == nil)
    decoder.append(frame.suffix(1))
    #expect(try decoder.next() == Self.messages[0])
  }

  static let hostile: [(name: String, bytes: [UInt8])] = [
    ("a length of zero", [0, 0, 0, 0]),
    ("a length above the limit", [0x01, 0, 0, 1]),
    ("the greatest length", [0xff, 0xff, 0xff, 0xff]),
    ("no JSON", [0, 0, 0, 3, 0x41, 0x42, 0x43]),
    ("half a JSON object", [0, 0, 0, 1, UInt8(ascii: "{")]),
    ("invalid UTF-8", [0, 0, 0, 4, UInt8(ascii: "\""), 0xc3, 0x28, UInt8(ascii: "\"")]),
    ("an array", framed("[]")),
    ("null", framed("null")),
    ("no id", framed(#"{"request":"version"}"#)),
    ("a negative id", framed(#"{"id":-1,"request":"version"}"#)),
    ("an id beyond 64 bits", framed(#"{"id":18446744073709551616,"request":"version"}"#)),
    ("a body that is missing", framed(#"{"id":1,"request":"attach"}"#)),
    ("a body of another type", framed(#"{"id":1,"request":"attach","body":[1]}"#)),
    ("a number too great", framed(#"{"id":1,"request":"showTransfer","body":{"transfer":1e400}}"#)),
    ("deep nesting", framed(String(repeating: "[", count: 100_000))),
    (
      "deep nesting in a known place",
      framed(#"{"id":1,"request":"attach","body":"# + String(repeating: #"{"a":"#, count: 50_000))
    ),
  ]

  private static func framed(_ json: String) -> [UInt8] {
    let bytes = Array(json.utf8)
    return withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
  }

  @Test(arguments: hostile.indices)
  func hostileBytesAreAnErrorThatStays(index: Int) throws {
    var decoder = MessageDecoder<ClientMessage>()
    decoder.append(Self.hostile[index].bytes)
    let error = try #require(throws: MessageFramingError.self, "\(Self.hostile[index].name)") { try decoder.next() }
    // Bytes behind an error are never taken for a message, since the start of the next one is unknown.
    decoder.append(try MessageFraming.frame(Self.messages[0]))
    #expect(throws: error) { try decoder.next() }
    #expect(decoder.bufferedCount == 0)
  }

  @Test func randomBytesNeverCrash() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      var decoder = MessageDecoder<ServiceMessage>()
      let count = UInt8.random(in: 0...64, using: &generator)
      decoder.append([0, 0, 0, count] + (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
      _ = try? decoder.next()
    }
  }

  @Test func manySmallMessagesInOneBufferStayCheap() throws {
    var decoder = MessageDecoder<ClientMessage>()
    let frame = try MessageFraming.frame(ClientMessage(id: 7, request: .version))
    let count = 20_000
    decoder.append((0..<count).reduce(into: Data()) { all, _ in all.append(frame) })
    var seen = 0
    while try decoder.next() != nil { seen += 1 }
    #expect(seen == count)
  }

  @Test func aMessageAboveTheLimitIsNotSent() {
    var description = RequestDescription(url: "http://a/")
    description.body = Data(count: MessageFraming.maximumLength)
    #expect(throws: MessageFramingError.self) { try MessageFraming.frame(description) }
  }
}
