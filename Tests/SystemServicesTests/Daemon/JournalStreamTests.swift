import Foundation
import Testing

@testable import SystemServices

@Suite struct JournalStreamTests {
  @Test(arguments: [
    ("9:27112", true), ("9:27113", false), ("8:27112", false), ("27112", false), ("9:27112:0", false), ("9:", false),
    (":", false), ("", false), ("9 27112", false), ("-9:27112", false), ("9:99999999999999999999999", false),
  ])
  func deviceAndInodeAreCompared(_ variable: String, _ isStream: Bool) {
    #expect(JournalStream.isStream(variable, device: 9, inode: 27112) == isStream)
  }

  /// A child of a program that the journal reads has the variable, and its output may go elsewhere.
  @Test func aFileIsTheStreamThatIsNamed() throws {
    let file = try #require(tmpfile())
    defer { fclose(file) }
    let descriptor = fileno(file)
    var status = stat()
    try #require(fstat(descriptor, &status) == 0)
    #expect(JournalStream.isFile(descriptor, named: "\(status.st_dev):\(status.st_ino)"))
    #expect(!JournalStream.isFile(descriptor, named: "\(status.st_dev):\(status.st_ino + 1)"))
    #expect(!JournalStream.isFile(descriptor, named: nil))
    #expect(!JournalStream.isFile(-1, named: "\(status.st_dev):\(status.st_ino)"))
  }
}
