import Foundation
import Testing

@testable import urlsession

struct DestinationTests {
  private let folder = TemporaryFolder()

  @Test func fileInTheCurrentFolder() throws {
    let destination = try Destination(argument: "x", currentFolder: folder.path)
    #expect(destination.path == folder.path + "/x")
    #expect(!destination.isFolder)
    #expect(destination.folder == folder.path)
  }

  @Test func missingOptionMeansTheCurrentFolder() throws {
    let destination = try Destination(argument: nil, currentFolder: folder.path)
    #expect(destination == Destination(path: folder.path, isFolder: true))
    #expect(destination.folder == folder.path)
  }

  @Test(arguments: ["sub", "sub/", "./sub/", "../\u{2B}/sub"]) func existingFolderIsADirectory(_ argument: String)
    throws
  {
    try FileManager.default.createDirectory(atPath: folder.path + "/sub", withIntermediateDirectories: true)
    let argument = argument.replacingOccurrences(of: "+", with: (folder.path as NSString).lastPathComponent)
    let destination = try Destination(argument: argument, currentFolder: folder.path)
    #expect(destination.isFolder)
    #expect(destination.path == folder.path + "/sub")
  }

  @Test func linkNamesTheFileBehindIt() throws {
    let target = folder.path + "/target"
    try Data("x".utf8).write(to: URL(fileURLWithPath: target))
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "target")
    #expect(try Destination(argument: "link", currentFolder: folder.path).path == target)
  }

  @Test func linkToAMissingFileNamesThatFile() throws {
    let files = FileManager.default
    try files.createDirectory(atPath: folder.path + "/sub", withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "sub/second")
    try files.createSymbolicLink(atPath: folder.path + "/sub/second", withDestinationPath: "../target")
    let destination = try Destination(argument: "link", currentFolder: folder.path)
    #expect(destination.path.hasSuffix(folder.path + "/target") && !destination.isFolder)
    for (name, target) in [("lost", "missing/x"), ("loop", "loop")] {
      try files.createSymbolicLink(atPath: "\(folder.path)/\(name)", withDestinationPath: target)
      let failure = #expect(throws: CommandFailure.self) {
        try Destination(argument: name, currentFolder: folder.path)
      }
      #expect(failure?.status == .cannotWrite)
    }
  }

  @Test func aNameThatIsTooLongIsRefused() throws {
    #expect(throws: Never.self) {
      try Destination(argument: String(repeating: "a", count: 255), currentFolder: folder.path)
    }
    let failure = #expect(throws: CommandFailure.self) {
      try Destination(argument: String(repeating: "ä", count: 128), currentFolder: folder.path)
    }
    #expect(failure?.status == .cannotWrite && failure?.advice.contains("shorter") == true)
  }

  @Test(arguments: ["missing/x", "missing/"]) func folderThatIsNotThere(_ argument: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try Destination(argument: argument, currentFolder: folder.path)
    }
    #expect(failure?.status == .cannotWrite)
  }

  @Test(arguments: [("/proc/x", "/tmp"), ("/sys/x", "/tmp"), ("/proc/self/fd", "/tmp"), ("x", "/proc"), (nil, "/proc")])
  func aFolderThatTakesNoFileIsRefused(_ argument: String?, _ currentFolder: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try Destination(argument: argument, currentFolder: currentFolder)
    }
    #expect(failure?.status == .cannotWrite && failure?.what.contains("can't be written: ") == true)
    #expect(failure?.what.contains("No such file") == false, "the folder is there")
  }

  @Test func theTrialOfAFolderLeavesNothingInIt() throws {
    try folder.write("former", to: "x")
    let destination = try Destination(argument: "x", currentFolder: folder.path)
    #expect(destination.path == folder.path + "/x")
    #expect(folder.names == ["x"] && folder.text("x") == "former")
  }

  @Test(
    arguments: [
      (owner: 1, folderOwner: 0, mode: 0o1777, user: 2, keeps: true),
      (owner: 2, folderOwner: 0, mode: 0o1777, user: 2, keeps: false),
      (owner: 1, folderOwner: 2, mode: 0o1777, user: 2, keeps: false),
      (owner: 1, folderOwner: 3, mode: 0o1777, user: 0, keeps: false),
      (owner: 1, folderOwner: 0, mode: 0o777, user: 2, keeps: false),
    ] as [(owner: uid_t, folderOwner: uid_t, mode: mode_t, user: uid_t, keeps: Bool)])
  func theStickyBitKeepsFilesOfOtherUsers(
    _ row: (owner: uid_t, folderOwner: uid_t, mode: mode_t, user: uid_t, keeps: Bool)
  ) {
    let keeps = NewFileTrial.keepsFile(of: row.owner, folder: (row.folderOwner, row.mode), user: row.user)
    #expect(keeps == row.keeps)
  }

  @Test func emptyName() {
    let failure = #expect(throws: CommandFailure.self) { try Destination(argument: "", currentFolder: folder.path) }
    #expect(failure?.status == .usage)
  }

  @Test func devicesAreNotRegularFiles() throws {
    #expect(Destination.isSpecialFile("/dev/null"))
    #expect(!Destination.isSpecialFile(folder.path))
    #expect(!Destination.isSpecialFile(folder.path + "/missing"))
  }
}

/// A folder of one test, removed with the value that names it.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/urlsession-test-XXXXXX".utf8CString)
    path = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Sorted names of what is in it, hidden things included.
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

  func text(_ name: String) -> String? {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) }
  }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }
}
