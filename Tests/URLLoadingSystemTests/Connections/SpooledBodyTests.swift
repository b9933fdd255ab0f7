import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// A body stream that is read more than once.
@Suite struct SpooledBodyTests {
  private static let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 9) }

  private func read(_ stream: InputStream, upTo limit: Int = .max, piece: Int = 7_000) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: piece)
    while bytes.count < limit {
      let count = stream.read(&buffer, maxLength: min(piece, limit - bytes.count))
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  @Test(arguments: [0, 1, 6_999, 100_000, 200_000]) func eachReadingBeginsAtTheFirstByte(_ part: Int) {
    let body = SpooledBody(SendableInputStream(InputStream(data: Data(Self.content))))
    let first = SpooledBodyStream(body)
    first.open()
    #expect(read(first, upTo: part) == Array(Self.content.prefix(part)))
    first.close()
    #expect(read(first) == [])
    let second = SpooledBodyStream(body)
    #expect(second.streamStatus == .notOpen)
    second.open()
    #expect(read(second) == Self.content)
    #expect(second.streamStatus == .atEnd && !second.hasBytesAvailable)
    let third = SpooledBodyStream(body)
    third.open()
    #expect(read(third, piece: 64_000) == Self.content)
  }

  @Test func aStreamThatCanNotBeReadFails() throws {
    let missing = try #require(InputStream(fileAtPath: "/nowhere/at/all"))
    let stream = SpooledBodyStream(SpooledBody(SendableInputStream(missing)))
    stream.open()
    var buffer = [UInt8](repeating: 0, count: 8)
    #expect(stream.read(&buffer, maxLength: 8) == -1)
    #expect(stream.streamStatus == .error)
    #expect((stream.streamError as? URLError)?.code == .requestBodyStreamExhausted)
  }
}
