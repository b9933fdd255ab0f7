import Foundation
import FuzzTargets
import Testing

/// Gives every input that was worth keeping to its parser, once: what the fuzzer has found stays found.
@Suite struct CorpusTests {
  private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Fuzz/Corpus").standardizedFileURL

  @Test(arguments: FuzzTarget.all.map(\.name)) func everyInputIsTaken(name: String) async throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = Self.corpus.appendingPathComponent(name)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.isEmpty)
    for name in names {
      let bytes = try Array(Data(contentsOf: folder.appendingPathComponent(name)))
      #expect(throws: Never.self, "Fuzz/Corpus/\(target.name)/\(name)") { try target.check(bytes) }
      await Task.yield()
    }
  }

  /// Folders of targets that are gone would never be looked at.
  @Test func everyFolderHasItsTarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
  }

  /// No seed at all: every byte, alone and before bytes that begin something somewhere.
  @Test(arguments: FuzzTarget.all.map(\.name)) func shortInputsAreTaken(name: String) async throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let starts = Array("\0\r\n\t :;,=\"\\/.-<{H0(\u{1F}\u{28}".utf8)
    #expect(throws: Never.self) { try target.check([]) }
    for first in UInt8.min...UInt8.max {
      let start = starts[Int(first) % starts.count]
      for rest in [[], [start], [start, start]] {
        #expect(throws: Never.self) { try target.check([first] + rest) }
      }
      // Tests that wait for another process share these threads.
      await Task.yield()
    }
  }
}
