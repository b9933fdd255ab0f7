import ChildProcess
import Foundation
import Testing

@testable import URLLoadingSystem

/// Processes that write one cache are killed at any moment: what is found afterwards is right.
@Suite struct CacheKillTests {
  private func writer(_ folder: URL, _ arguments: String...) throws -> ChildProcess {
    let process = ChildProcess()
    process.executableURL = URL(fileURLWithPath: BuiltProgram.path("cache-writer"))
    process.arguments = [folder.path] + arguments
    try process.run()
    return process
  }

  @Test func killedWritersLeaveARightCache() async throws {
    let place = TemporaryCache()
    var writers = try (0..<4).map { _ in try writer(place.folder) }
    defer { for writer in writers { kill(writer.processIdentifier, SIGKILL) } }
    for number in 0..<200 {
      try await Task.sleep(for: .milliseconds(.random(in: 5...60)))
      let victim = writers[number % 4]
      // One that has found a wrong body has ended by itself.
      #expect(victim.isRunning)
      kill(victim.processIdentifier, SIGKILL)
      victim.waitUntilExit()
      writers[number % 4] = try writer(place.folder)
    }
    for writer in writers {
      kill(writer.processIdentifier, SIGKILL)
      writer.waitUntilExit()
    }
    let cache = place.cache(disk: 3_000_000)
    var found = 0
    for number in 0..<40 where cache.cachedResponse(for: try place.request("\(number)")) != nil { found += 1 }
    #expect(found > 0)
    #expect(cache.currentDiskUsage <= 3_000_000)
    #expect(!FileManager.default.fileExists(atPath: place.folder.appendingPathComponent("damaged").path))
    let check = try writer(place.folder, "check")
    check.waitUntilExit()
    #expect(check.terminationStatus == 0)
  }
}
