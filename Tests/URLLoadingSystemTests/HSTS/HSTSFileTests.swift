import Foundation
import HTTPSemantics
import Synchronization
import SystemServices
import Testing

@testable import URLLoadingSystem

/// The file of hosts that are loaded over TLS only, and the other processes that use it.
@Suite struct HSTSFileTests {
  private static func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hsts-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder + "/hsts.json")
  }

  private static func add(_ host: String, to file: HSTSFile, while isWanted: @escaping @Sendable () -> Bool)
    async throws
  {
    let policy = try #require(StrictTransportSecurity(parsing: "max-age=3600"))
    await file.change(while: isWanted, by: { _ = $0.note(policy, from: host, at: 1_000) })
  }

  /// A process that holds the lock has read the file, and would bring its hosts back.
  @Test func theFileIsNotRemovedWithoutTheLock() async throws {
    try await Self.withFolder { path in
      try await Self.add("a.example", to: HSTSFile(path: path)) { true }
      let file = HSTSFile(path: path, limit: .milliseconds(20))
      var lock: FileLock? = try FileLock.acquire(path + ".lock")
      #expect(lock != nil)
      #expect(await !file.remove())
      #expect(FileManager.default.fileExists(atPath: path))
      lock = nil
      #expect(await HSTSFile(path: path).remove())
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func aFileThatIsNotThereIsRemoved() async throws {
    try await Self.withFolder { path in #expect(await HSTSFile(path: path + "/none/hsts.json").remove()) }
  }

  /// All hosts may be forgotten while the new file is being written.
  @Test(arguments: [0, 1, 2]) func aChangeThatIsNoLongerWantedIsNotMade(isWantedTimes count: Int) async throws {
    try await Self.withFolder { path in
      let file = HSTSFile(path: path)
      let asked = Mutex(0)
      try await Self.add("a.example", to: file) {
        asked.withLock { asked in
          asked += 1
          return asked <= count
        }
      }
      #expect(await file.read().contains("a.example", at: 1_000) == (count == 2))
      let names = try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
      #expect(!names.contains("hsts.json.new"))
    }
  }
}
