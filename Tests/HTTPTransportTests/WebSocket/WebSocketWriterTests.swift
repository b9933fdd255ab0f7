import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct WebSocketWriterTests {
  /// The example of RFC 6455 §5.7.
  @Test func masksAsInTheRFC() {
    var out = ByteBuffer()
    WebSocketFrame.write(.text, payload: ByteBuffer(string: "Hello").readableBytesView, key: 0x37FA_213D, into: &out)
    #expect(
      Array(out.readableBytesView) == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
  }

  @Test(arguments: [0, 1, 7, 8, 9, 15, 16, 17, 125, 126, 127, 65_535, 65_536, 100_003])
  func framesOfEveryLength(_ count: Int) {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var out = ByteBuffer()
    WebSocketFrame.write(.binary, payload: ByteBuffer(bytes: payload).readableBytesView, into: &out)
    let frames = ClientFrames.parse(&out)
    #expect(frames == [.init(first: 0x82, payload: payload)])
    #expect(out.readableBytes == 0)
  }

  @Test func eachFrameHasItsOwnKey() {
    let keys = Set(
      (0..<32).compactMap { _ -> UInt32? in
        var out = ByteBuffer()
        WebSocketWriter.ping(ByteBuffer(), into: &out)
        return out.getInteger(at: 2, as: UInt32.self)
      })
    #expect(keys.count > 16)
  }

  @Test func aLongMessageLeavesInFragments() {
    let writer = WebSocketWriter(compression: nil)
    let payload = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var message = writer.message(isText: true, ByteBuffer(bytes: payload))
    var out = ByteBuffer()
    var steps = 1
    while !message.next(into: &out) { steps += 1 }
    let frames = ClientFrames.parse(&out)
    #expect(steps == 3)
    #expect(frames.map(\.first) == [0x01, 0x00, 0x80])
    #expect(frames.flatMap(\.payload) == payload)
  }

  @Test(arguments: [(false, 15), (true, 15), (false, 9)])
  func compressesAndForgetsAsAgreed(_ forgets: Bool, _ bits: Int) throws {
    var terms = MessageCompression()
    terms.clientForgets = forgets
    terms.clientWindowBits = bits
    let writer = WebSocketWriter(compression: terms)
    let text = String(repeating: "the same again, ", count: 20)
    var sizes: [Int] = []
    var reader = try WebSocketReader(maximumMessageSize: 1 << 20, compression: MessageCompression())
    for _ in 0..<3 {
      var out = ByteBuffer()
      var message = writer.message(isText: true, ByteBuffer(string: text))
      let isWhole = message.next(into: &out)
      #expect(isWhole)
      let bytes = ClientFrames.unmasked(&out)
      #expect(bytes.first == 0xC1)
      sizes.append(bytes.count)
      reader.append(ByteBuffer(bytes: bytes))
      let event = try reader.next()
      #expect(event == .message(isText: true, ByteBuffer(string: text)))
    }
    #expect(sizes[0] < text.utf8.count / 4)
    #expect(forgets ? sizes[1] == sizes[0] : sizes[1] < sizes[0])
  }

  /// Big and incompressible, to go through every step of the compressor's loop.
  @Test func compressesWhatCannotBeCompressed() throws {
    var generator = SystemRandomNumberGenerator()
    let payload = (0..<700_000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let writer = WebSocketWriter(compression: MessageCompression())
    var message = writer.message(isText: false, ByteBuffer(bytes: payload))
    var out = ByteBuffer()
    while !message.next(into: &out) {}
    var reader = try WebSocketReader(maximumMessageSize: 1 << 20, compression: MessageCompression())
    reader.append(ByteBuffer(bytes: ClientFrames.unmasked(&out)))
    let event = try reader.next()
    #expect(event == .message(isText: false, ByteBuffer(bytes: payload)))
  }

  /// Small messages, and a window that zlib does not have, are sent as they are.
  @Test func sendsUncompressedWhereThatIsBetter() {
    var terms = MessageCompression()
    terms.clientWindowBits = 8
    for (writer, text) in [
      (WebSocketWriter(compression: MessageCompression()), "short"),
      (WebSocketWriter(compression: terms), String(repeating: "a", count: 100)),
    ] {
      var out = ByteBuffer()
      var message = writer.message(isText: true, ByteBuffer(string: text))
      let isWhole = message.next(into: &out)
      #expect(isWhole)
      let frames = ClientFrames.parse(&out)
      #expect(frames.map(\.first) == [0x81])
    }
  }
}
