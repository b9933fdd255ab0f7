import Foundation
import LoopbackServer
import SystemServices
import Testing

@testable import TransferService

@Suite struct LimitingProgramTests {
  /// A file below the folder; it and the folders around it are for the user alone.
  private func file(_ name: String, in folder: TemporaryFolder) throws -> ExecutableIdentity {
    let path = "\(folder.path)/\(name)"
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try Data("program".utf8).write(to: URL(fileURLWithPath: path))
    try #require(chmod(path, 0o700) == 0)
    return try identity(path)
  }

  private func identity(_ path: String) throws -> ExecutableIdentity {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return ExecutableIdentity(
      path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
  }

  @Test(arguments: [
    ("bin/urlsession", "bin/urlsessiond", true), ("bin/urlsession", "libexec/urlsessiond", true),
    ("bin/urlsession", "bin/urlsessiond (deleted)", true), ("home/urlsession", "bin/urlsessiond", false),
    ("bin/app", "bin/urlsessiond", false),
  ])
  func onlyTheProgramOfTheService(_ program: String, _ service: String, _ isAllowed: Bool) throws {
    let folder = try TemporaryFolder()
    let program = try file(program, in: folder)
    #expect(LimitingProgram.isAllowed(program, besides: "\(folder.path)/\(service)") == isAllowed)
    #expect(!LimitingProgram.isAllowed(program, besides: nil))
  }

  /// In another mount namespace another file is at the tool's path.
  @Test func anotherFileWithTheToolsPathMayNot() throws {
    let folder = try TemporaryFolder()
    let tool = try file("bin/urlsession", in: folder)
    var other = try file("home/app", in: folder)
    other.path = tool.path
    let service = "\(folder.path)/bin/urlsessiond"
    #expect(LimitingProgram.isAllowed(tool, besides: service))
    #expect(!LimitingProgram.isAllowed(other, besides: service))
  }

  @Test func aToolThatOthersCanWriteMayNot() throws {
    let folder = try TemporaryFolder()
    let tool = try file("bin/urlsession", in: folder)
    try #require(chmod(tool.path, 0o777) == 0)
    #expect(!LimitingProgram.isAllowed(tool, besides: "\(folder.path)/bin/urlsessiond"))
  }
}
