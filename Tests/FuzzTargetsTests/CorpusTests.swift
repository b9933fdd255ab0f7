import Foundation
import FuzzTargets
import Testing

/// Gives every input that was worth keeping to its parser, once: what the fuzzer has found stays found.
@Suite struct CorpusTests {
  private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Fuzz/Corpus").standardizedFileURL

  @Test(arguments: FuzzTarget.all.map(\.name)) func everyInputIsTaken(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = Self.corpus.appendingPathComponent(name)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.isEmpty)
    for name in names {
      let bytes = try Array(Data(contentsOf: folder.appendingPathComponent(name)))
      #expect(throws: Never.self, "Fuzz/Corpus/\(target.name)/\(name)") { try target.check(bytes) }
    }
  }

  /// Folders of targets that are gone would never be looked at.
  @Test func everyFolderHasItsTarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
  }

  /// No seed at all: every byte, and every pair of bytes that begins something somewhere.
  @Test(arguments: FuzzTarget.all.map(\.name)) func shortInputsAreTaken(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let starts = Array("\0\r\n\t :;,=\"\\/.-<{H0(\u{1F}\u{28}".utf8)
    for first in UInt8.min...UInt8.max {
      for rest in [[]] + starts.map({ [$0] }) + starts.map({ [$0, $0] }) {
        #expect(throws: Never.self) { try target.check([first] + rest) }
      }
    }
    #expect(throws: Never.self) { try target.check([]) }
  }
}
