import Testing

@testable import TransferService

/// Which runs may be ended, so that others go on later.
@Suite struct RunRepeatabilityTests {
  private static let size: Int64 = 100 << 20

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let unsent: Int64
    var kept: Int64 = 0
    var isAnswered = false
    var bytesPerSecond: Int64 = 1_000
    var isRepeatable = false
    let mayGoOnLater: Bool
  }

  @Test(arguments: [
    Row(testDescription: "nothing is sent", unsent: size, mayGoOnLater: true),
    Row(testDescription: "much is not sent", unsent: 2 << 20, mayGoOnLater: true),
    Row(testDescription: "the server may have the whole", unsent: 1 << 20, mayGoOnLater: false),
    Row(testDescription: "all is sent", unsent: 0, mayGoOnLater: false),
    Row(testDescription: "more is sent than there was", unsent: -1, mayGoOnLater: false),
    Row(
      testDescription: "the server may have the whole in a moment", unsent: 2 << 20, bytesPerSecond: 1 << 20,
      mayGoOnLater: false),
    Row(testDescription: "the rate has no bound", unsent: size, bytesPerSecond: .max, mayGoOnLater: false),
    Row(testDescription: "the server has answered early", unsent: size - 1, isAnswered: true, mayGoOnLater: false),
    Row(testDescription: "the server keeps a part", unsent: 1, kept: 1_000, mayGoOnLater: true),
    Row(testDescription: "the server keeps the whole and is to answer", unsent: 0, kept: 1_000, mayGoOnLater: false),
    Row(
      testDescription: "the server keeps a part and has answered", unsent: 1, kept: 1_000, isAnswered: true,
      mayGoOnLater: false),
    Row(testDescription: "it may be repeated", unsent: 0, isRepeatable: true, mayGoOnLater: true),
    Row(
      testDescription: "it may be repeated, and is answered", unsent: 0, isAnswered: true, isRepeatable: true,
      mayGoOnLater: true),
    Row(
      testDescription: "it may be repeated, and the server keeps the whole", unsent: 0, kept: 1_000, isRepeatable: true,
      mayGoOnLater: false),
  ]) func anUploadGoesOnLaterWhereItsRequestHasNoEffectYet(_ row: Row) {
    var run = RunRepeatability(isUpload: true, isRepeatable: row.isRepeatable, size: Self.size)
    let sent = SentBytes(Self.size - row.unsent, of: Self.size)
    run.advanced(to: sent, kept: KeptBytes(row.kept, of: Self.size))
    if row.isAnswered { run.answered() }
    #expect(run.mayGoOnLater(bytesPerSecond: row.bytesPerSecond) == row.mayGoOnLater)
  }

  /// It is the request that counts, whatever has arrived of the file.
  @Test(arguments: [true, false]) func aDownloadGoesOnLaterWhereItsRequestMayBeRepeated(isRepeatable: Bool) {
    var run = RunRepeatability(isUpload: false, isRepeatable: isRepeatable, size: nil)
    #expect(run.mayGoOnLater(bytesPerSecond: 0) == isRepeatable)
    run.answered()
    #expect(run.mayGoOnLater(bytesPerSecond: 0) == isRepeatable)
  }

  @Test(arguments: [(0, false), (1_000, true)] as [(Int64, Bool)])
  func anUploadOfASmallFileGoesOnLaterWhereItsServerHasKeptAPart(_ kept: Int64, _ mayGoOnLater: Bool) {
    let run = RunRepeatability(isUpload: true, isRepeatable: false, size: 600_000, kept: kept)
    #expect(run.mayGoOnLater(bytesPerSecond: 0) == mayGoOnLater)
  }

  @Test func aFileThatCouldNotBeReadIsNotSent() {
    #expect(RunRepeatability(isUpload: true, isRepeatable: false, size: nil).mayGoOnLater(bytesPerSecond: 0))
  }
}
