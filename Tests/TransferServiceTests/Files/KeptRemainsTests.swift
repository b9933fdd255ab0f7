import Foundation
import Testing

@testable import TransferService

/// How long folders of things that were set aside are kept.
@Suite struct KeptRemainsTests {
  private static let now = Date(timeIntervalSince1970: 1_750_000_000)

  private static func folder(_ name: String, days: Double, bytes: Int64) -> KeptRemains.Folder {
    .init(path: name, date: now - days * 86_400, bytes: bytes)
  }

  @Test func theOldestGoFirst() {
    var ages = KeptAges()
    ages.remainsBytes = 100
    let folders = [
      Self.folder("old", days: 31, bytes: 1), Self.folder("today", days: 0.5, bytes: 200),
      Self.folder("yesterday", days: 1.5, bytes: 1), Self.folder("ahead", days: -400, bytes: 1),
    ]
    #expect(KeptRemains.excess(of: folders, ages, at: Self.now).map(\.path) == ["yesterday", "old"])
    ages.remainsBytes = 1_000
    #expect(KeptRemains.excess(of: folders, ages, at: Self.now).map(\.path) == ["old"])
  }

  @Test func onlyFoldersWithADateAreRemoved() throws {
    let folder = try TemporaryFolder()
    let old = DatedFolder.name(Self.now - 40 * 86_400)
    let new = DatedFolder.name(Self.now)
    #expect(DatedFolder.date(old) == Self.now - 40 * 86_400)
    for name in ["set-aside/\(old)", "quarantine/\(old)", "set-aside/\(new)", "set-aside/Zoo"] {
      try Data("bytes".utf8).write(to: URL(fileURLWithPath: try folder.subfolder(name) + "/7"))
    }
    let removed = try KeptRemains(directory: folder.path).clean(KeptAges(), at: Self.now)
    #expect(removed.map(\.bytes) == [5, 5])
    let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    #expect(
      left == ["quarantine", "set-aside", "set-aside/\(new)", "set-aside/\(new)/7", "set-aside/Zoo", "set-aside/Zoo/7"])
  }
}
