import Foundation
import Testing

@testable import TransferService

/// How long folders of things that were set aside are kept.
@Suite struct KeptRemainsTests {
  private static let now = Date(timeIntervalSince1970: 1_750_000_000)

  /// - Parameter counted: days on which the service ran; nil: as many as have passed.
  private static func folder(_ name: String, days: Double, counted: Int? = nil, bytes: Int64) -> KeptRemains.Folder {
    .init(path: name, date: now - days * 86_400, days: counted ?? max(0, Int(days)), bytes: bytes)
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

  /// Days by the clock, days on which the service ran, and whether it goes for its age, and for its bytes.
  @Test(arguments: [
    (31.0, 30, true, true), (31, 29, false, true), (20_000, 0, false, false), (20_000, 1, false, true),
    (20_000, 30, true, true), (-20_000, 100, false, false), (29, 100, false, true), (0.5, 30, false, false),
  ])
  func aClockThatIsSetRemovesNothing(days: Double, counted: Int, goesForAge: Bool, goesForBytes: Bool) {
    let folder = Self.folder("x", days: days, counted: counted, bytes: 10)
    var ages = KeptAges()
    #expect(KeptRemains.excess(of: [folder], ages, at: Self.now).isEmpty == !goesForAge)
    ages.remainsBytes = 5
    #expect(KeptRemains.excess(of: [folder], ages, at: Self.now).isEmpty == !goesForBytes)
  }

  @Test func onlyFoldersWithADateAreRemoved() throws {
    let folder = try TemporaryFolder()
    let old = DatedFolder.name(Self.now - 40 * 86_400)
    let new = DatedFolder.name(Self.now)
    #expect(DatedFolder.date(old) == Self.now - 40 * 86_400)
    for name in ["set-aside/\(old)", "quarantine/\(old)", "set-aside/\(new)", "set-aside/Zoo"] {
      try Data("bytes".utf8).write(to: URL(fileURLWithPath: try folder.subfolder(name) + "/7"))
    }
    let remains = KeptRemains(directory: folder.path)
    #expect(try remains.clean(KeptAges(), KeptDays(), at: Self.now) == [])
    let days = KeptDays(days: Dictionary(uniqueKeysWithValues: try remains.paths().map { ($0, 30) }))
    let removed = try remains.clean(KeptAges(), days, at: Self.now)
    #expect(removed.map(\.bytes) == [5, 5])
    let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    #expect(
      left == ["quarantine", "set-aside", "set-aside/\(new)", "set-aside/\(new)/7", "set-aside/Zoo", "set-aside/Zoo/7"])
  }
}
