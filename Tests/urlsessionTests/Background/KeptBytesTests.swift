import Foundation
import LoopbackServer
import Testing

@testable import urlsession

@Suite struct KeptBytesTests {
  @Test func filesThatNoCommandHasUsedGo() throws {
    let state = TemporaryFolder()
    let kept = KeptBytes(state: state.path)
    let folder = kept.folder + "/urlsession-1"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: folder + "/a.tmp", contents: Data("a".utf8)))
    kept.prune(now: Date() + KeptBytes.keptFor - 3_600)
    #expect(FileManager.default.fileExists(atPath: folder + "/a.tmp"))
    // The clock was wrong when it was kept.
    kept.prune(now: Date() + 20 * 365 * 86_400)
    #expect(FileManager.default.fileExists(atPath: folder + "/a.tmp"))
    kept.prune(now: Date() + KeptBytes.keptFor + 3_600)
    #expect(!FileManager.default.fileExists(atPath: folder + "/a.tmp"))
  }

  /// Records are files that another program may have written.
  @Test(arguments: [
    (RetryChoice(retries: 0, delay: nil), 1), (RetryChoice(retries: 4, delay: 2), 5),
    (RetryChoice(retries: -7, delay: nil), 1),
    (RetryChoice(retries: nil, delay: 3), nil), (RetryChoice(retries: .max, delay: nil), Int(Int32.max) + 1),
  ])
  func aRecordSaysHowOftenItIsTried(choice: RetryChoice?, attempts: Int?) throws {
    let choice = try #require(choice)
    let read = try JSONDecoder().decode(RetryChoice.self, from: JSONEncoder().encode(choice))
    #expect(read == choice && read.policy.maximumAttempts == attempts)
    #expect(RetryChoice(retries: nil, delay: nil) == nil)
  }
}
