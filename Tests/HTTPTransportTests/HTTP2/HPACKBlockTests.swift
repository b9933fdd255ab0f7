import HTTPSemantics
import NIOCore
import NIOHPACK
import Testing

@testable import HTTPTransport

@Suite struct HPACKBlockTests {
  /// - Parameter effect: The number of added fields, and whether others of the table are used; nil for none.
  @Test(
    arguments: [
      ([], (0, false)), ([0x88], (0, false)), ([0x88, 0xbd], (0, false)), ([0x88, 0xbe], (0, true)),
      ([0x88, 0xff, 0x80, 0x01], (0, true)),
      // Not indexed and never indexed, with a name of the table and one of its own.
      ([0x0f, 0x0d, 2, 0x34, 0x32], (0, false)), ([0x1f, 0x2f, 1, 0x61], (0, true)),
      ([0, 1, 0x61, 1, 0x62], (0, false)), ([0x10, 1, 0x61, 0x81, 0x8f, 0x88], (0, false)),
      // Indexed.
      ([0x40, 1, 0x61, 1, 0x62], (1, false)), ([0x5c, 1, 0x30, 0x5c, 1, 0x31], (2, false)),
      ([0x7e, 1, 0x30], (1, true)),
      ([0xbe, 0x5c, 1, 0x30], (1, true)),
      // A change of the table's size.
      ([0x20, 0x88], nil), ([0x3f, 1], nil),
      // Cut off, or with a number that means nothing.
      ([0xff], nil), ([0xff, 0x80], nil), ([0], nil), ([0, 1], nil), ([0, 1, 0x61], nil), ([0x40, 1, 0x61], nil),
      ([0, 1, 0x61, 2, 0x62], nil), ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], nil),
      ([0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f], nil),
    ] as [([UInt8], (Int, Bool)?)])
  func blockIsSeenThrough(_ bytes: [UInt8], _ effect: (added: Int, usesTable: Bool)?) {
    let block = HPACKBlock(ByteBuffer(bytes: bytes))
    #expect(block?.added == effect?.added && block?.usesTable == effect?.usesTable)
    #expect(block?.canRepeat == effect.map { $0.added == 0 || !$0.usesTable })
  }

  // MARK: Responses

  private func decode(_ bytes: [UInt8], by decoder: inout HTTP2ResponseDecoder) throws -> HTTPResponseHead? {
    let section = try decoder.decode(ByteBuffer(bytes: bytes))
    #expect(section.head == (try? HTTP2ResponseFields.head(section.list)))
    return section.head
  }

  @Test func sameBlockStandsForOtherFieldsWhenTheTableHasChanged() throws {
    var decoder = HTTP2ResponseDecoder()
    let repeated: [UInt8] = [0x88, 0xbe]
    _ = try decode([0x88, 0x40, 1, 0x61, 1, 0x62], by: &decoder)
    for _ in 0..<3 { #expect(try decode(repeated, by: &decoder)?.fields == ["a": "b"]) }
    // One that leaves the table.
    #expect(try decode([0x89, 0, 1, 0x78, 1, 0x79], by: &decoder)?.fields == ["x": "y"])
    #expect(try decode(repeated, by: &decoder)?.fields == ["a": "b"])
    _ = try decode([0x88, 0x40, 1, 0x63, 1, 0x64], by: &decoder)
    for _ in 0..<3 { #expect(try decode(repeated, by: &decoder)?.fields == ["c": "d"]) }
    // The table is emptied.
    _ = try decode([0x20, 0x88], by: &decoder)
    #expect(throws: (any Error).self) { try decoder.decode(ByteBuffer(bytes: repeated)) }
  }

  /// As nginx does it: each block adds its fields again. Another decoder decodes each of them.
  @Test(arguments: [1, 2, 5, 40, 130, 200])
  func tableIsAsIfEachBlockWasDecoded(_ times: Int) throws {
    var decoder = HTTP2ResponseDecoder()
    var server = HPACKDecoder(allocator: ByteBufferAllocator())
    func decodeByBoth(_ bytes: [UInt8]) throws {
      var block = ByteBuffer(bytes: bytes)
      let section = try? decoder.decode(block)
      let list = try? server.decodeHeaders(from: &block)
      #expect(section?.list.map(\.name) == list?.map(\.name) && section?.list.map(\.value) == list?.map(\.value))
    }
    let large: [UInt8] = [0x5f, 0x7f, 0x21] + Array(repeating: 0x61, count: 160)
    for repeated: [UInt8] in [
      [0x88, 0x40, 1, 0x61, 1, 0x62, 0x5c, 1, 0x30], [0x88, 0x40, 0, 0], [0x88] + large, [0x88, 0x76, 1, 0x73],
    ] {
      try decodeByBoth([0x88, 0x40, 1, 0x78, 1, 0x79, 0x40, 1, 0x78, 1, 0x7a])
      for _ in 0..<times { try decodeByBoth(repeated) }
      // All that may be in the table, entry by entry.
      for entry in 62..<200 {
        try decodeByBoth([0x88] + (entry < 127 ? [0x80 | UInt8(entry)] : [0xff, UInt8(entry - 127)]))
        if entry % 3 == 0 { try decodeByBoth([0x88, 0, 1, 0x71, 1, 0x72]) }
      }
      try decodeByBoth(repeated)
    }
  }

  @Test func fieldsOfHeadsThatRepeatAreOneList() throws {
    var decoder = HTTP2ResponseDecoder()
    func list(_ bytes: [UInt8]) throws -> HTTPFields { try #require(try decode(bytes, by: &decoder)).fields }
    let plain: [UInt8] = [0x88, 0, 1, 0x61, 1, 0x62]
    #expect(try list(plain).isIdentical(to: list(plain)))
    // Set-Cookie, as a name of the table.
    let cookie: [UInt8] = [0x88, 0x0f, 0x28, 3, 0x61, 0x3d, 0x62]
    #expect(try list(cookie) == ["set-cookie": "a=b"])
    #expect(try !list(cookie).isIdentical(to: list(cookie)))
    #expect(try list([0x08, 3, 0x31, 0x30, 0x33, 0, 1, 0x61, 1, 0x62]) == ["a": "b"])
  }

  @Test func trailersAreNoHead() throws {
    var decoder = HTTP2ResponseDecoder()
    for _ in 0..<2 {
      let section = try decoder.decode(ByteBuffer(bytes: [0, 1, 0x61, 1, 0x62]))
      #expect(section.head == nil && section.size == 34)
      #expect(try HTTP2ResponseFields.trailers(section.list) == ["a": "b"])
    }
  }

  // MARK: Requests

  private func head(_ target: String = "/", _ fields: HTTPFields = ["Accept": "*/*"]) -> HTTPRequestHead {
    HTTPRequestHead(method: "GET", target: target, authority: "h.org", scheme: "https", fields: fields)
  }

  /// Sends the heads, and returns which of them were not encoded anew. Each block is decoded as a server does it.
  private func send(
    _ heads: [(HTTPRequestHead, RequestBodyFraming)], by encoder: inout HTTP2RequestEncoder,
    to server: inout HPACKDecoder
  ) throws -> [Bool] {
    try heads.map { head, framing in
      let fields = try encoder.fields(of: head, framing: framing)
      try encoder.encode(fields, of: framing == .none ? head : nil)
      var block = encoder.block
      let list = try HTTP2RequestFields.list(head, framing: framing)
      #expect(
        try server.decodeHeaders(from: &block).map { "\($0.name)=\($0.value)" } == list.map { "\($0.name)=\($0.value)" }
      )
      if case .asBefore = fields { return true }
      return false
    }
  }

  @Test func headThatIsSentAgainIsNotCompressedAgain() throws {
    var encoder = HTTP2RequestEncoder()
    var server = HPACKDecoder(allocator: ByteBufferAllocator())
    let (plain, other) = (head(), head("/b"))
    // The first one fills the table, the second one is what stays.
    #expect(
      try send([(plain, .none), (plain, .none), (plain, .none)], by: &encoder, to: &server) == [false, false, true])
    #expect(
      try send([(other, .none), (plain, .none), (plain, .none)], by: &encoder, to: &server) == [false, false, true])
    // A body of no bytes is told in the head.
    #expect(
      try send([(plain, .length(0)), (plain, .length(0)), (plain, .none)], by: &encoder, to: &server) == [
        false, false, false,
      ])
    try encoder.encode(.list([("checksum", "1")].list))
    var trailers = encoder.block
    _ = try server.decodeHeaders(from: &trailers)
    #expect(try send([(plain, .none), (plain, .none)], by: &encoder, to: &server) == [false, true])
    encoder.setTableSize(0)
    #expect(try send([(plain, .none)], by: &encoder, to: &server) == [false])
  }

  @Test(arguments: ["Authorization", "cookie", "Proxy-Authorization", "X-Api-Key"])
  func headsWithCredentialsAreNotKept(_ name: String) throws {
    var encoder = HTTP2RequestEncoder()
    var server = HPACKDecoder(allocator: ByteBufferAllocator())
    var fields: HTTPFields = ["Accept": "*/*"]
    fields.append(name, "secret")
    for head in [head("/", fields), head("/?token=secret"), head("/" + String(repeating: "a", count: 3_000))] {
      let heads = Array(repeating: (head, RequestBodyFraming.none), count: 3)
      #expect(try send(heads, by: &encoder, to: &server) == [false, false, false])
    }
  }
}
