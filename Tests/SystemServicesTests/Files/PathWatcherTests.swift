import Foundation
import Synchronization
import Testing

@testable import SystemServices

@Suite struct PathWatcherTests {
  static let changes: [(name: String, change: @Sendable (String) -> Int32)] = [
    ("a file of it is removed", { unlink($0 + "/file") }),
    ("a file of it is replaced", { rename($0 + "/other", $0 + "/file") }),
    ("it is moved", { rename($0, $0 + "-moved") }),
    ("it is removed", { unlink($0 + "/file") + unlink($0 + "/other") + rmdir($0) }),
  ]

  /// Makes a folder with two files, and waits for a call of the watcher after `body`.
  private func expectCall(_ prepare: (PathWatcher, String) -> Void, then change: (String) -> Int32) throws {
    let folder = NSTemporaryDirectory() + "watch-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
      for path in [folder, folder + "-moved"] { try? FileManager.default.removeItem(atPath: path) }
    }
    for name in ["file", "other"] { try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    let called = DispatchSemaphore(value: 0)
    let watcher = try #require(PathWatcher { called.signal() })
    prepare(watcher, folder)
    #expect(change(folder) == 0)
    #expect(called.wait(timeout: .now() + 30) == .success)
  }

  @Test(arguments: changes.map(\.name)) func changesOfAFolderAreTold(name: String) throws {
    let row = try #require(Self.changes.first { $0.name == name })
    try expectCall { watcher, folder in
      #expect(watcher.watch(folder: folder))
    } then: {
      row.change($0)
    }
  }

  @Test func theFolderThatIsWatchedNextIsTheOneThatCounts() throws {
    let next = NSTemporaryDirectory() + "watch-next-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: next, withIntermediateDirectories: true)
    try expectCall { watcher, folder in
      #expect(watcher.watch(folder: folder) && watcher.watch(folder: next))
    } then: { _ in
      rmdir(next)
    }
  }

  @Test func theOpeningOfAFileIsTold() throws {
    try expectCall { watcher, folder in
      #expect(watcher.watch(openingOf: folder + "/file"))
    } then: { folder in
      close(open(folder + "/file", O_RDONLY))
    }
  }

  /// One that does not exist is opened by no process, so it takes nothing from the others.
  @Test(arguments: ["file", "other"]) func theOpeningOfOneOfSeveralFilesIsTold(name: String) throws {
    try expectCall { watcher, folder in
      #expect(watcher.watch(openingsOf: ["/nowhere/at/all", folder + "/file", folder + "/other"]))
    } then: { folder in
      close(open("\(folder)/\(name)", O_RDONLY))
    }
  }

  @Test func whatIsNotThereIsNotWatched() throws {
    let watcher = try #require(PathWatcher {})
    #expect(!watcher.watch(folder: "/nowhere/at/all") && !watcher.watch(openingOf: "/nowhere/at/all"))
  }
}
