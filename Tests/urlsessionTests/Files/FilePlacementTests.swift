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
