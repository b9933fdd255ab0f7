import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

@Suite(.overHTTP1To3) struct ContentDecodingTests {
  private func load(_ reply: Reply) async throws -> (Data, HTTPURLResponse) {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in reply }
    let session = URLSession(configuration: .loopback)
    let result: Result<(Data, URLResponse), any Error>
    do { result = .success(try await session.data(from: server.url())) } catch { result = .failure(error) }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    let (data, response) = try result.get()
    return (data, try #require(response as? HTTPURLResponse))
  }

  private func expectCorrupt(_ reply: Reply) async {
    let error = await #expect(throws: URLError.self) { _ = try await load(reply) }
    #expect(error?.code == .cannotDecodeRawData)
    #expect(error?.failingURL != nil)
  }

  @Test(
    arguments: [
      ("gzip", CodedBytes.gzip), ("x-gzip", .gzip), ("GZip", .gzip), ("deflate", .zlib), ("deflate", .rawDeflate),
      ("br", .brotli), ("BR", .brotli), ("zstd", .zstd), ("identity, zstd", .zstd),
    ])
  func aCodedBodyIsDecoded(_ coding: String, _ coded: CodedBytes) async throws {
    let plain = BytePattern().bytes(count: 300_000) + [UInt8](repeating: 7, count: 3_000_000)
    let (data, response) = try await load(.ok(coded.encode(plain), fields: [("Content-Encoding", coding)]))
    #expect(data == Data(plain))
    #expect(response.expectedContentLength == -1)
    #expect(response.value(forHTTPHeaderField: "Content-Encoding") == coding)
  }

  @Test func codingsAreUndoneInReverse() async throws {
    let plain = Array("again and again".utf8)
    let order: [CodedBytes] = [.zlib, .brotli, .gzip, .zstd, .rawDeflate]
    let coded = order.reduce(plain) { $1.encode($0) }
    let names = order.map(\.coding).joined(separator: ", ")
    #expect(try await load(.ok(coded, fields: [("Content-Encoding", names)])).0 == Data(plain))
  }

  /// Wherever the pieces end, a format that is told by its first bytes among them.
  @Test(arguments: CodedBytes.allCases) func bytesMayComeOneByOne(_ coded: CodedBytes) async throws {
    let plain = BytePattern().bytes(count: 200) + [UInt8](repeating: 1, count: 5_000)
    let bytes = coded.encode(plain) + coded.encode(plain)
    let reply = Reply(
      [.head(200, fields: [("Content-Encoding", coded.coding), ("Transfer-Encoding", "chunked")])]
        + bytes.map { .chunk([$0]) } + [.endOfChunks])
    let hasMembers = coded == .gzip || coded == .zstd
    #expect(try await load(reply).0 == Data(hasMembers ? plain + plain : plain))
  }

  @Test(arguments: [CodedBytes.gzip, .zstd]) func membersFollowEachOther(_ coded: CodedBytes) async throws {
    var bytes = coded.encode(Array("one ".utf8)) + coded.encode([]) + coded.encode(Array("two".utf8))
    // RFC 8878 §3.1.2: a skippable frame, which is skipped.
    if coded == .zstd { bytes = [0x5A, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 0xFF, 0xFF] + bytes }
    let (data, _) = try await load(.ok(bytes, fields: [("Content-Encoding", coded.coding)]))
    #expect(String(decoding: data, as: UTF8.self) == "one two")
  }

  @Test(arguments: CodedBytes.allCases) func paddingAfterTheLastMemberIsDropped(_ coded: CodedBytes) async throws {
    let plain = Array("what was meant".utf8)
    for padding in [[0], Array(repeating: 0, count: 70_000), Array("\r\n".utf8)] {
      let reply = Reply.ok(coded.encode(plain) + padding, fields: [("Content-Encoding", coded.coding)])
      #expect(try await load(reply).0 == Data(plain))
    }
  }

  /// Not even the codings that are known are undone: the app could not tell how far the decoding went.
  @Test(arguments: ["exotic", "gzip, exotic", "exotic, gzip", "compress", "aes128gcm"])
  func anUnknownCodingIsHandedOver(_ names: String) async throws {
    let coded = CodedBytes.gzip.encode(Array("as it is".utf8))
    let (data, response) = try await load(.ok(coded, fields: [("Content-Encoding", names)]))
    #expect(data == Data(coded))
    #expect(response.expectedContentLength == Int64(coded.count))
  }

  @Test(arguments: CodedBytes.allCases) func anEmptyBodyIsNoTruncatedOne(_ coded: CodedBytes) async throws {
    let fields: HeaderList = [("Content-Encoding", coded.coding)]
    #expect(try await load(.status(200, fields: fields)).0.isEmpty)
    #expect(try await load(.status(200, fields: fields, body: coded.encode([]))).0.isEmpty)
  }

  @Test(arguments: CodedBytes.allCases, ["cut", "cut at once", "corrupt", "not coded at all"])
  func whatCanNotBeDecodedIsAnError(_ coded: CodedBytes, _ fault: String) async throws {
    var bytes = coded.encode(Array(repeating: BytePattern().bytes(count: 4_000), count: 50).flatMap { $0 })
    switch fault {
    case "cut": bytes = Array(bytes.dropLast(1))
    case "cut at once": bytes = Array(bytes.prefix(1))
    // Many bytes, early ones among them: a coding without a check sum notices no change of a literal.
    case "corrupt": for index in 5..<bytes.count * 3 / 4 { bytes[index] ^= 0xff }
    // No coding's first bytes.
    default: bytes = Array("\u{7}\u{7}plain text, which is nothing else".utf8)
    }
    await expectCorrupt(.ok(bytes, fields: [("Content-Encoding", coded.coding)]))
  }

  /// The end of a member is no end when another has begun.
  @Test(arguments: [CodedBytes.gzip, .zstd]) func aFurtherMemberMustBeComplete(_ coded: CodedBytes) async throws {
    let one = coded.encode(Array("one".utf8))
    await expectCorrupt(.ok(one + one.dropLast(2), fields: [("Content-Encoding", coded.coding)]))
  }

  /// RFC 9659 §3: 8 MiB and no more.
  @Test func windowsAreBounded() async throws {
    let plain = BytePattern().bytes(count: 100_000)
    let fields: HeaderList = [("Content-Encoding", "zstd")]
    let (data, _) = try await load(.ok(CodedBytes.zstd(plain, windowLog: 23), fields: fields))
    #expect(data == Data(plain))
    await expectCorrupt(.ok(CodedBytes.zstd(plain, windowLog: 24), fields: fields))
  }

  /// Each layer costs memory: a server can't have as many as it likes.
  @Test func layersAreLimited() async throws {
    let names = Array(repeating: "gzip", count: 6).joined(separator: ", ")
    await expectCorrupt(.ok("x", fields: [("Content-Encoding", names)]))
  }

  /// Members without content cost the loop time and bring nothing.
  @Test func emptyMembersAreLimited() async throws {
    let empty = CodedBytes.gzip.encode([])
    let content = CodedBytes.gzip.encode(Array("content".utf8))
    let few = Array(repeating: empty, count: 500).flatMap { $0 } + content
    let fields: HeaderList = [("Content-Encoding", "gzip")]
    #expect(try await load(.ok(few, fields: fields)).0 == Data("content".utf8))
    await expectCorrupt(.ok(Array(repeating: empty, count: 5_000).flatMap { $0 } + content, fields: fields))
  }

  @Test func paddingIsLimited() async throws {
    let coded = CodedBytes.gzip.encode(Array("content".utf8))
    let padding = [UInt8](repeating: 0, count: 3 << 20)
    await expectCorrupt(.ok(coded + padding, fields: [("Content-Encoding", "gzip")]))
  }

  /// A body that grows a thousandfold is decoded at its reader's pace: while the delegate does not come back, no more
  /// of it than a few pieces exists.
  @Test(arguments: [CodedBytes.gzip, .brotli, .zstd]) func aBombIsDecodedAtItsReadersPace(_ coded: CodedBytes)
    async throws
  {
    let size = 64 << 20
    let bomb = coded.encode([UInt8](repeating: 0, count: size))
    try #require(bomb.count < size / 500)
    try await withServer({ _ in .ok(bomb, fields: [("Content-Encoding", coded.coding)]) }) { server in
      let delegate = StuckDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      let task = session.dataTask(with: server.url())
      task.resume()
      try await delegate.firstBytes.wait(within: patience)
      // Everything has arrived, and what can be decoded ahead has been.
      try await eventually("the bytes to stop") {
        let before = task.countOfBytesReceived
        try await Task.sleep(for: .milliseconds(200))
        return task.countOfBytesReceived == before
      }
      #expect(task.countOfBytesReceived < 4 << 20)
      delegate.go.signal()
      try await delegate.done.wait(within: patience)
      #expect(delegate.received.load(ordering: .relaxed) == size)
      #expect(delegate.largest.load(ordering: .relaxed) <= 2 << 20)
      session.invalidateAndCancel()
    }
  }
}

private final class StuckDelegate: NSObject, URLSessionDataDelegate, Sendable {
  let firstBytes = Gate()
  let done = Gate()
  let go = DispatchSemaphore(value: 0)
  let received = Atomic<Int>(0)
  let largest = Atomic<Int>(0)

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if received.add(data.count, ordering: .relaxed).oldValue == 0 {
      firstBytes.open()
      go.wait()
    }
    largest.max(data.count, ordering: .relaxed)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) { done.open() }
}
