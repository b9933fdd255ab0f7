import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTP2FrameReaderTests {
  /// The bytes of one frame.
  static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
    var buffer = ByteBuffer()
    HTTP2FrameHeader(length: payload.count, type: type, flags: flags, stream: stream).write(into: &buffer)
    return Array(buffer.readableBytesView) + payload
  }

  static let settings = frame(HTTP2FrameType.settings, 0, 0)

  private func read(_ bytes: [UInt8], piece: Int = .max) throws -> [HTTP2Frame] {
    var reader = HTTP2FrameReader()
    var frames: [HTTP2Frame] = []
    var rest = (HTTP2FrameReaderTests.settings + bytes)[...]
    while !rest.isEmpty {
      reader.append(ByteBuffer(bytes: rest.prefix(piece)))
      rest = rest.dropFirst(piece)
      while let frame = try reader.next() { frames.append(frame) }
    }
    #expect(frames.first == .settings([]))
    return Array(frames.dropFirst())
  }

  @Test(arguments: [1, 2, 7, 9, 10, 64, Int.max])
  func piecesOfAnySizeMakeTheSameFrames(_ piece: Int) throws {
    let bytes =
      Self.frame(0, 0, 1, Array("hello".utf8))
      + Self.frame(0, 0x9, 1, [3] + Array("end".utf8) + [0, 0, 0])
      + Self.frame(1, 0x20, 3, [0, 0, 0, 0, 16] + [0x88])
      + Self.frame(9, 0x4, 3, [0x89])
      + Self.frame(3, 0, 3, [0, 0, 0, 7])
      + Self.frame(6, 0, 0, [0, 0, 0, 0, 0, 0, 0, 9])
      + Self.frame(7, 0, 0, [0x80, 0, 0, 5, 0, 0, 0, 0xb] + Array("calm".utf8))
      + Self.frame(8, 0, 1, [0x80, 0, 0, 1])
      + Self.frame(0xbe, 0, 1, [1, 2, 3])
      + Self.frame(4, 0, 0, [0, 3, 0, 0, 0, 50]) + Self.frame(4, 1, 0)
    #expect(
      try read(bytes, piece: piece) == [
        .data(1, bytes: ByteBuffer(string: "hello"), flowControlled: 5, endsStream: false),
        .data(1, bytes: ByteBuffer(string: "end"), flowControlled: 7, endsStream: true),
        .headers(3, block: ByteBuffer(bytes: [0x88, 0x89]), wireSize: 9 + 6 + 9 + 1, endsStream: false),
        .reset(3, .refusedStream), .ping(9), .goAway(lastStream: 5, .enhanceYourCalm, debug: "calm"),
        .windowUpdate(1, increment: 1), .ignored,
        .settings([HTTP2Setting(HTTP2Setting.maximumConcurrentStreams, 50)]), .settingsAcknowledged,
      ])
  }

  /// TLS copies the buffer that it reads into where another refers to it.
  @Test(arguments: [0, 3, 9, 12])
  func bufferIsLetGoOf(_ rest: Int) throws {
    var reader = HTTP2FrameReader()
    let ping = Self.frame(6, 0, 0, [0, 0, 0, 0, 0, 0, 0, 9])
    var bytes = ByteBuffer(bytes: Self.settings + ping + ping.prefix(rest))
    let address = bytes.withUnsafeReadableBytes { $0.baseAddress }
    reader.append(bytes)
    #expect(try reader.next() == .settings([]))
    #expect(try reader.next() == .ping(9))
    #expect(try reader.next() == nil)
    bytes.clear()
    bytes.writeBytes(ping.dropFirst(rest))
    #expect(bytes.withUnsafeReadableBytes { $0.baseAddress } == address)
    reader.append(bytes)
    #expect(try reader.next() == .ping(9))
  }

  /// RFC 8336 §2.1: with flags that have no meaning yet, on a stream, or cut short it says nothing.
  @Test(
    arguments: [
      (0, 0, [0, 1, 0x61, 0, 2, 0x62, 0x63], ["a", "bc"]), (0xf0, 0, [0, 1, 0x61], ["a"]), (0, 0, [], []),
      (1, 0, [0, 1, 0x61], nil), (8, 0, [0, 1, 0x61], nil), (0, 1, [0, 1, 0x61], nil), (0, 0, [0, 9, 0x61], nil),
    ] as [(UInt8, UInt32, [UInt8], [String]?)])
  func originsAreRead(_ flags: UInt8, _ stream: UInt32, _ payload: [UInt8], _ origins: [String]?) throws {
    let frames = try read(Self.frame(HTTP2FrameType.origin, flags, stream, payload))
    #expect(frames == [origins.map { .origins($0) } ?? .ignored])
  }

  struct Broken: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let code: HTTP2ErrorCode

    init(_ description: String, _ bytes: [UInt8], _ code: HTTP2ErrorCode) {
      testDescription = description
      self.bytes = bytes
      self.code = code
    }

    static let all: [Broken] = [
      Broken("a frame that is too long", frame(0, 0, 1, Array(repeating: 0, count: 16_385)), .frameSizeError),
      Broken("DATA on the connection", frame(0, 0, 0), .protocolError),
      Broken("HEADERS on the connection", frame(1, 4, 0), .protocolError),
      Broken("RST_STREAM on the connection", frame(3, 0, 0, [0, 0, 0, 0]), .protocolError),
      Broken("SETTINGS on a stream", frame(4, 0, 1), .protocolError),
      Broken("PING on a stream", frame(6, 0, 1, Array(repeating: 0, count: 8)), .protocolError),
      Broken("GOAWAY on a stream", frame(7, 0, 1, Array(repeating: 0, count: 8)), .protocolError),
      Broken("a short RST_STREAM", frame(3, 0, 1, [0]), .frameSizeError),
      Broken("half a parameter", frame(4, 0, 0, [0, 3, 0]), .frameSizeError),
      Broken("an acknowledgement that says something", frame(4, 1, 0, [0, 3, 0, 0, 0, 1]), .frameSizeError),
      Broken("a short PING", frame(6, 0, 0, [0]), .frameSizeError),
      Broken("a short GOAWAY", frame(7, 0, 0, [0, 0, 0, 0]), .frameSizeError),
      Broken("a long WINDOW_UPDATE", frame(8, 0, 0, Array(repeating: 0, count: 5)), .frameSizeError),
      Broken("more padding than payload", frame(0, 8, 1, [5, 1]), .protocolError),
      Broken("padding without its length", frame(0, 8, 1), .protocolError),
      Broken("PUSH_PROMISE", frame(5, 4, 1, [0, 0, 0, 2]), .protocolError),
      Broken("CONTINUATION without HEADERS", frame(9, 4, 1), .protocolError),
      Broken("a header block that is interrupted", frame(1, 0, 1) + frame(0, 0, 1), .protocolError),
      Broken("a header block that goes on elsewhere", frame(1, 0, 1) + frame(9, 4, 3), .protocolError),
      Broken(
        "CONTINUATION without end", frame(1, 0, 1) + Array(repeating: frame(9, 0, 1), count: 70).joined(),
        .enhanceYourCalm),
      Broken(
        "a header block without end",
        frame(1, 0, 1)
          + Array(repeating: frame(9, 0, 1, Array(repeating: 0, count: 16_384)), count: 70).joined(),
        .enhanceYourCalm),
    ]
  }

  @Test(arguments: Broken.all)
  func brokenFramesEndTheConnection(_ broken: Broken) {
    let error = #expect(throws: HTTP2ConnectionError.self) { try read(broken.bytes) }
    #expect(error?.code == broken.code)
  }

  @Test func anotherProtocolIsNoticedAtOnce() {
    var reader = HTTP2FrameReader()
    reader.append(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n"))
    let error = #expect(throws: HTTP2ConnectionError.self) { try reader.next() }
    #expect(error?.code == .protocolError)
  }

  @Test func whatIsWrittenIsRead() throws {
    var buffer = ByteBuffer()
    let block = ByteBuffer(bytes: Array(repeating: 7, count: 40_000))
    let size = HTTP2FrameWriter.headers(5, block: block, endsStream: true, frameBytes: 16_384, into: &buffer)
    #expect(size == 40_000 + 3 * 9)
    HTTP2FrameWriter.data(5, ByteBuffer(string: "x"), endsStream: true, into: &buffer)
    HTTP2FrameWriter.ping(1, isAcknowledgement: true, into: &buffer)
    HTTP2FrameWriter.goAway(.noError, into: &buffer)
    #expect(
      try read(Array(buffer.readableBytesView)) == [
        .headers(5, block: block, wireSize: size, endsStream: true),
        .data(5, bytes: ByteBuffer(string: "x"), flowControlled: 1, endsStream: true), .pingAcknowledged(1),
        .goAway(lastStream: 0, .noError, debug: ""),
      ])
  }
}
