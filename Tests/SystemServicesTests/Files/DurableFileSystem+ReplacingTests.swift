import Foundation
import Testing

@testable import SystemServices

@Suite struct DurableFileSystemReplacingTests {
  private struct Failure: Error {}

  @Test func aFileIsReplacedAsAWhole() throws {
    let folder = NSTemporaryDirectory() + "replacing-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (path, files) = (folder + "/file", LinuxFileSystem())
    func write(_ text: String) throws {
      try files.replace(path) { file in try Data(text.utf8).withUnsafeBytes { try file.write($0, at: 0) } }
    }
    try write("a long text")
    try write("short")
    #expect(throws: Failure.self) {
      try files.replace(path) { file in
        try Data("half".utf8).withUnsafeBytes { try file.write($0, at: 0) }
        throw Failure()
      }
    }
    #expect(FileManager.default.contents(atPath: path) == Data("short".utf8))
    #expect(try files.names(in: folder) == ["file"])
  }
}
