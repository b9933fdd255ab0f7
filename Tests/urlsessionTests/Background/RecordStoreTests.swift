import Foundation
import Testing

@testable import urlsession

struct RecordStoreTests {
  private let folder = TemporaryFolder()
  private var store: RecordStore { RecordStore(state: folder.path) }

  private func record(_ session: String, finished: Date? = nil) -> DownloadRecord {
    var record = DownloadRecord(
      session: session, url: "http://a/", destination: Destination(path: "/x", isFolder: false),
      created: Date(timeIntervalSince1970: 1_000))
    record.finished = finished
    return record
  }

  @Test func updateReadsChangesAndWrites() throws {
    try store.update("s") { before in
      #expect(before == nil)
      return record("s")
    }
    try store.update("s") { before in
      var after = before
      after?.transfer = 17
      after?.outcome = .saved
      return after
    }
    let read = try #require(store.read("s"))
    #expect(read.transfer == 17)
    #expect(read.outcome == .saved)
    #expect(read.created == Date(timeIntervalSince1970: 1_000))
    #expect(store.all() == [read])
  }

  @Test func aRemovedRecordIsGone() throws {
    for session in ["s", "t"] { try store.update(session) { _ in record(session) } }
    store.remove("s")
    store.remove("../results/t")
    #expect(store.all().map(\.session) == ["t"])
  }

  /// A service that has lost its folder numbers anew.
  @Test func theLatestRecordOfANumberCounts() throws {
    for (session, seconds) in [("s", 1_000.0), ("t", 3_000), ("u", 2_000)] {
      var record = record(session)
      record.transfer = 7
      record.created = Date(timeIntervalSince1970: seconds)
      try store.update(session) { _ in record }
    }
    #expect(store.latest(7)?.session == "t" && store.latest(8) == nil)
  }

  @Test func folderIsPrivate() throws {
    try store.update("s") { _ in record("s") }
    var status = stat()
    try #require(stat(store.folder, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o700)
  }

  @Test(arguments: ["", "../x", "a/b", ".hidden"]) func invalidIdentifiersAreRefused(_ session: String) throws {
    #expect(try store.update(session) { _ in record("s") } == nil)
    #expect(store.read(session) == nil)
    #expect(!folder.names.contains("x.json"))
  }

  @Test func unreadableRecordsAreIgnored() throws {
    try store.update("good") { _ in record("good") }
    try Data("{".utf8).write(to: URL(fileURLWithPath: store.folder + "/bad.json"))
    #expect(store.all().map(\.session) == ["good"])
  }

  @Test func oldRecordsAreRemoved() throws {
    let now = Date(timeIntervalSince1970: 100_000_000)
    let ages: [(String, Date?)] = [
      ("old", now.addingTimeInterval(-31 * 86_400)), ("young", now.addingTimeInterval(-29 * 86_400)), ("open", nil),
    ]
    for (name, finished) in ages { try store.update(name) { _ in record(name, finished: finished) } }
    store.prune(now: now)
    #expect(Set(store.all().map(\.session)) == ["young", "open"])
  }

  @Test func concurrentUpdatesAreKept() async throws {
    try store.update("s") { _ in record("s") }
    let store = store
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          _ = try? store.update("s") { before in
            var after = before
            after?.bytes = (before?.bytes ?? 0) + 1
            return after
          }
        }
      }
    }
    #expect(store.read("s")?.bytes == 50)
  }
}

struct DownloadNoteTests {
  @Test func noteSurvivesAsATaskDescription() throws {
    let note = DownloadNote(destination: Destination(path: "/a b/ü", isFolder: true, mode: 0o640), state: "/s")
    #expect(DownloadNote(taskDescription: try note.taskDescription) == note)
  }

  @Test(arguments: [
    nil, "", "my own words", "{}",
    #"{"version":2,"destination":{"path":"/x","isFolder":false,"mode":420},"state":"/s"}"#,
    #"{"version":1,"destination":{"path":"x","isFolder":false,"mode":420},"state":"/s"}"#,
    #"{"version":1,"destination":{"path":"/x","isFolder":false,"mode":420},"state":""}"#,
  ]) func otherDescriptionsAreIgnored(_ text: String?) { #expect(DownloadNote(taskDescription: text) == nil) }
}
