import Foundation
import Testing

@testable import SystemServices

@Suite final class ReplacedFileTests {
  let folder = NSTemporaryDirectory() + "replaced-" + UUID().uuidString
  var path: String { folder + "/file" }

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func replace(_ file: ReplacedFile, with text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try file.replace(with: $0) }
  }

  @Test func theContentIsReplacedAsAWhole() throws {
    let file = ReplacedFile(path: path)
    try replace(file, with: "a long first content")
    let old = try #require(FileHandle(forReadingAtPath: path))
    try replace(file, with: "second")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "second")
    // A reader that has the old file open reads that one to its end.
    #expect(try old.readToEnd() == Data("a long first content".utf8))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
  }

  @Test func whatAKilledProcessLeftIsNoHindrance() throws {
    #expect(FileManager.default.createFile(atPath: path + ".new", contents: Data("half".utf8)))
    try replace(ReplacedFile(path: path), with: "whole")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "whole")
  }

  @Test func oneAtATimeChangesTheFile() throws {
    let file = ReplacedFile(path: path, limit: .milliseconds(20))
    try file.withLock { () -> Void in
      #expect(throws: BlockingCalls.Expired.self) { try file.withLock {} }
    }
    let answer = try file.withLock { 5 }
    #expect(answer == 5)
  }

  @Test func aFolderThatIsMissingIsAnError() throws {
    let file = ReplacedFile(path: folder + "/none/file")
    #expect(throws: SystemError.self) { try replace(file, with: "x") }
  }
}
