import Foundation
import HTTPSemantics
import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct CacheRecordTests {
  private func record() -> CacheRecord {
    var head = StoredHead(
      head: HTTPResponseHead(version: .http2, status: 206, reason: "r", fields: ["A": "1", "a": "ü"]),
      url: "https://example.com/", requestTime: -1, responseTime: 1 << 40,
      selecting: SelectingFields(names: ["a", "b"], digest: [1, 2]), credentialMark: [3],
      part: StoredPart(first: 4, last: 9, total: nil))
    head.bodyLength = 6
    head.isDecoded = true
    return CacheRecord(head: head, userInfo: Data([5]))
  }

  @Test func recordIsReadAsItWasWritten() throws {
    let read = try #require(CacheRecord(record().encoded))
    #expect(read.head == record().head)
    #expect(read.userInfo == Data([5]))
  }

  @Test func everyCutIsRefused() {
    let encoded = record().encoded
    for length in 0..<encoded.readableBytes {
      #expect(CacheRecord(ByteBuffer(bytes: encoded.readableBytesView.prefix(length))) == nil)
    }
  }

  @Test func countThatIsTooLargeIsRefused() {
    var bytes = ByteBuffer(bytes: record().encoded.readableBytesView.prefix(12))
    bytes.writeRepeatingByte(0xFF, count: 64)
    #expect(CacheRecord(bytes) == nil)
  }
}
