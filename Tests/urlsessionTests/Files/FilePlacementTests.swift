import Foundation
import Testing

@testable import urlsession

struct FilePlacementTests {
  private let folder = TemporaryFolder()
  private let elsewhere = TemporaryFolder()

  private func place(
    _ source: String, _ destination: Destination, name: String? = nil, willPlace: (String) throws -> Void = { _ in }
  ) throws -> String {
    try FilePlacement.place(source, at: destination, suggestedName: name, willPlace: willPlace)
  }

  private func source(_ text: String = "new") throws -> String {
    try elsewhere.write(text, to: "source")
    return elsewhere.path + "/source"
  }

  @Test func namedFileIsReplacedAndKeepsItsMode() throws {
    try folder.write("old", to: "x")
    chmod(folder.path + "/x", 0o640)
    let path = try place(try source(), Destination(path: folder.path + "/x", isFolder: false))
    #expect(path == folder.path + "/x")
    #expect(folder.text("x") == "new")
    #expect(try mode("x") == 0o640)
    #expect(elsewhere.names.isEmpty)
  }

  @Test func newFileHasTheModeOfTheDestination() throws {
    _ = try place(try source(), Destination(path: folder.path + "/x", isFolder: false, mode: 0o604))
    #expect(try mode("x") == 0o604)
  }

  @Test func namesOfServersNeverReplace() throws {
    try folder.write("mine", to: "a.txt")
    let destination = Destination(path: folder.path, isFolder: true, mode: 0o644)
    var told: [String] = []
    for text in ["one", "two"] {
      let path = try place(try source(text), destination, name: "a.txt") { told.append($0) }
      told.append(path)
    }
    #expect(folder.names == ["a (1).txt", "a (2).txt", "a.txt"])
    #expect(folder.text("a.txt") == "mine")
    #expect(folder.text("a (2).txt") == "two")
    #expect(told == ["a (1).txt", "a (1).txt", "a (2).txt", "a (2).txt"].map { "\(folder.path)/\($0)" })
    #expect(try mode("a (1).txt") == 0o644)
  }

  /// A name that another program takes at the last moment is left to it.
  @Test func nameTakenMeanwhileIsNotReplaced() throws {
    var told: [String] = []
    let path = try place(try source(), Destination(path: folder.path, isFolder: true), name: "a") { path in
      told.append((path as NSString).lastPathComponent)
      // Nothing is there yet, not even an empty file.
      #expect(folder.names.isEmpty || told.count > 1)
      if told.count == 1 { try folder.write("theirs", to: "a") }
    }
    #expect(told == ["a", "a (1)"])
    #expect(path == folder.path + "/a (1)")
    #expect(folder.text("a") == "theirs" && folder.text("a (1)") == "new")
    #expect(folder.names == ["a", "a (1)"] && elsewhere.names.isEmpty)
  }

  struct Begun: Sendable {
    let name: String
    /// What is at the path that was told before the crash.
    let there: String?
    let result: [String: String]
  }

  static let begun = [
    Begun(name: "not placed yet", there: nil, result: ["a (3)": "new"]),
    Begun(name: "placed", there: "new", result: ["a (3)": "new"]),
    Begun(name: "taken by another program", there: "old", result: ["a (3)": "old", "a": "new"]),
  ]

  @Test(arguments: begun.indices) func afterACrashItGoesToTheSameName(index: Int) throws {
    let row = Self.begun[index]
    if let there = row.there { try folder.write(there, to: "a (3)") }
    _ = try FilePlacement.place(
      try source(), at: Destination(path: folder.path, isFolder: true), suggestedName: "a",
      begun: folder.path + "/a (3)")
    #expect(folder.names == row.result.keys.sorted(), "\(row.name)")
    for (name, text) in row.result { #expect(folder.text(name) == text, "\(row.name)") }
    #expect(elsewhere.names.isEmpty)
  }

  @Test func acrossFileSystems() throws {
    // /dev/shm is a file system of its own on Linux; without it there is nothing to test here.
    var template = Array("/dev/shm/urlsession-test-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let source = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    defer { unlink(source) }
    let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try content.write(to: URL(fileURLWithPath: source))
    let path = try place(source, Destination(path: folder.path + "/x", isFolder: false, mode: 0o644))
    #expect(FileManager.default.contents(atPath: path) == content)
    #expect(!FileManager.default.fileExists(atPath: source))
    #expect(folder.names == ["x"])
    #expect(try mode("x") == 0o644)
    // A free name in a folder is found there, too.
    try content.write(to: URL(fileURLWithPath: source))
    #expect(
      try place(source, Destination(path: folder.path, isFolder: true, mode: 0o644), name: "x")
        == "\(folder.path)/x (1)")
    #expect(folder.names == ["x", "x (1)"])
    #expect(FileManager.default.contents(atPath: folder.path + "/x (1)") == content)
    #expect(!FileManager.default.fileExists(atPath: source))
  }

  @Test func failureLeavesTheSourceAndNothingElse() throws {
    let source = try source()
    let gone = Destination(path: folder.path + "/gone", isFolder: true)
    #expect(throws: CommandFailure.self) { try place(source, gone, name: "a") }
    #expect(throws: CommandFailure.self) {
      try place(source, Destination(path: folder.path, isFolder: true), name: "a") { _ in
        throw CommandFailure(.cannotWrite, "no", advice: "no")
      }
    }
    #expect(folder.names.isEmpty)
    #expect(elsewhere.text("source") == "new")
  }

  @Test func devicesAreNotReplaced() throws {
    let pipe = folder.path + "/pipe"
    try #require(mkfifo(pipe, 0o600) == 0)
    let source = try source()
    #expect(throws: CommandFailure.self) { try place(source, Destination(path: pipe, isFolder: false)) }
    #expect(Destination.isSpecialFile(pipe))
  }

  private func mode(_ name: String) throws -> mode_t {
    var status = stat()
    try #require(stat("\(folder.path)/\(name)", &status) == 0)
    return status.st_mode & 0o7777
  }
}
