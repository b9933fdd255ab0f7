import Dispatch
import Foundation
import LoopbackServer
import Testing

@testable import SystemServices

@Suite struct StreamReadSourceTests {
  /// A source that Dispatch tells of the end itself was now and then used after it was freed.
  @Test func bytesAndTheEndAreTold() async throws {
    for _ in 0..<200 {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
      let (reading, writing) = (ends[0], ends[1])
      let queue = DispatchQueue(label: "tests.stream")
      let reads = Recorder<Int>()
      let source = StreamReadSource.make(reading, queue: queue)
      source.setEventHandler {
        var byte: UInt8 = 0
        let count = read(reading, &byte, 1)
        reads.record(count)
        if count == 0 { source.cancel() }
      }
      source.resume()
      #expect(write(writing, "x", 1) == 1)
      #expect(try await reads.next() == 1)
      close(writing)
      #expect(try await reads.next() == 0)
      #expect(reads.count == 2)
    }
  }
}
