import EveryVersion
import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// The file that a download must bring.
@Suite struct ExpectedContentTests {
  /// Of "abc" (FIPS 180-2, appendix B.1).
  static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

  static let texts: [(text: String, isTaken: Bool)] = [
    (abc, true), (abc.uppercased(), true), ("", false), (String(abc.dropLast()), false),
    (String(abc.dropLast(2)), false), (abc + "00", false), (String(abc.dropLast()) + "g", false),
    (" " + abc.dropLast(), false), (String(abc.dropLast(2)) + "é", false),
  ]

  @Test(arguments: texts.indices) func digestsAreSixtyFourHexadecimalDigits(index: Int) {
    let row = Self.texts[index]
    #expect((ExpectedContent(sha256: row.text) != nil) == row.isTaken, "\(row.text)")
  }

  @Test func lengthsAreZeroOrMore() {
    #expect(ExpectedContent(byteCount: 0)?.byteCount == 0)
    #expect(ExpectedContent(byteCount: -1) == nil && ExpectedContent(sha256: Self.abc, byteCount: -1) == nil)
    #expect(ExpectedContent(sha256: Data([1, 2])) == nil)
    #expect(ExpectedContent(sha256: Data(repeating: 1, count: 33).dropFirst())?.sha256?.startIndex == 0)
    #expect(ExpectedContent(sha256: Self.abc)?.sha256?.hexadecimal == Self.abc)
  }

  static let mismatches: [ContentMismatch] = [
    .sha256(expected: Data([1]), received: Data([2])), .byteCount(expected: 3, received: 4), .status(404),
  ]

  @Test(arguments: mismatches) func aMismatchArrivesFromTheService(_ mismatch: ContentMismatch) throws {
    let failure = TransferFailure(mismatch.urlError)
    let decoded = try MessageFraming.decode(TransferFailure.self, from: try MessageFraming.encode(failure)).urlError
    #expect(decoded.code == .cannotDecodeContentData && decoded.contentMismatch == mismatch)
    #expect(decoded.localizedDescription == mismatch.sentence)
  }

  @Test func sentencesNameBothSides() {
    let sentence = ContentMismatch.sha256(expected: Data([0x0a]), received: Data([0xbc])).sentence
    #expect(sentence.contains("0a") && sentence.contains("bc"))
    #expect(URLError(.timedOut).contentMismatch == nil)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
    let expected: ExpectedContent?
    /// nil: the file arrives.
    let mismatch: ContentMismatch?
  }

  static let rows: [Row] = [
    Row(
      testDescription: "the expected file", reply: .ok("abc"), expected: .init(sha256: abc, byteCount: 3), mismatch: nil
    ),
    Row(testDescription: "any file", reply: .status(404, body: "none"), expected: nil, mismatch: nil),
    Row(
      testDescription: "the expected length", reply: .chunked(["a", "bc"]), expected: .init(byteCount: 3), mismatch: nil
    ),
    Row(
      testDescription: "another file", reply: .ok("abd"), expected: .init(sha256: abc),
      mismatch: .sha256(
        expected: Data(hexadecimal: abc) ?? Data(),
        received: Data(hexadecimal: "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9") ?? Data())),
    Row(
      testDescription: "another length", reply: .ok("abcd"), expected: .init(sha256: abc, byteCount: 3),
      mismatch: .byteCount(expected: 3, received: 4)),
    Row(
      testDescription: "a failure of the server", reply: .status(500, body: "abc"), expected: .init(sha256: abc),
      mismatch: .status(500)),
  ]

  @Test(.overHTTP1To3, arguments: rows) func downloadsOfOtherSessionsAreCheckedToo(_ row: Row) async throws {
    try await withServer({ _ in row.reply }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let task = session.downloadTask(with: server.url())
      task.expectedContent = row.expected
      task.resume()
      // Too late.
      task.expectedContent = nil
      #expect(task.expectedContent == row.expected)
      try await delegate.done.wait(within: patience)
      #expect((task.error as? URLError)?.contentMismatch == row.mismatch)
      #expect(delegate.summary.contains("file") == (row.mismatch == nil))
      #expect((task.error as? URLError)?.downloadTaskResumeData == nil)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aFileThatEndsEarlyIsNoDigest() throws {
    let path = NSTemporaryDirectory() + "digest-\(UUID().uuidString)"
    try Data("abc".utf8).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    #expect(try StreamedDigest().addingSlice(ofFileAt: path, upTo: 3).value.hexadecimal == Self.abc)
    #expect(throws: StreamedDigest.Failure.self) { try StreamedDigest().addingSlice(ofFileAt: path, upTo: 4) }
    #expect(throws: StreamedDigest.Failure.self) { try StreamedDigest().addingSlice(ofFileAt: path + "x", upTo: 4) }
  }
}
