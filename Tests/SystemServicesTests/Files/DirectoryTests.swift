import Foundation
import Testing

@testable import SystemServices

@Suite struct DirectoryTests {
  private func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "system-services-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  @Test func environmentVariablesCount() throws {
    let directories = try UserDirectories(environment: [
      "HOME": "/h", "XDG_STATE_HOME": "/s/", "XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r",
    ])
    #expect(directories == UserDirectories(state: "/s", cache: "/c", runtime: "/r"))
  }

  /// Another user could rename the private folder in it, and put one in its place.
  @Test(arguments: [(0o777, true), (0o757, true), (0o1777, false), (0o755, false)] as [(mode_t, Bool)])
  func aRuntimeFolderOfWhichOthersRenameTheContentIsRefused(mode: mode_t, isRefused: Bool) throws {
    try withTemporaryDirectory { temporary in
      chmod(temporary, mode)
      func runtime() throws -> String { try UserDirectories.runtime(["XDG_RUNTIME_DIR": temporary]) }
      if isRefused {
        #expect(throws: PrivateDirectory.Refusal.open(mode: mode, temporary)) { _ = try runtime() }
      } else {
        let path = try runtime()
        #expect(path == temporary)
      }
    }
  }

  @Test func relativeVariablesAreIgnored() throws {
    let directories = try UserDirectories(environment: [
      "HOME": "/h", "XDG_STATE_HOME": "s", "XDG_CACHE_HOME": "", "XDG_RUNTIME_DIR": "/r",
    ])
    #expect(directories == UserDirectories(state: "/h/.local/state", cache: "/h/.cache", runtime: "/r"))
  }

  @Test func withoutARuntimeDirectoryAPrivateOneIsMade() throws {
    try withTemporaryDirectory { temporary in
      let path = try UserDirectories.runtime(["TMPDIR": temporary], system: temporary + "/none")
      #expect(path == "\(temporary)/urlsessiond-\(geteuid())")
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o700)
      // The second time it is there already.
      #expect(try UserDirectories.runtime(["TMPDIR": temporary], system: temporary + "/none") == path)
    }
  }

  /// Anyone can make a folder in /tmp, and must not keep the service of others from being found.
  @Test func aFolderThatAnotherUserMadeIsPassedOver() throws {
    try withTemporaryDirectory { temporary in
      let foreign = "\(temporary)/urlsessiond-\(geteuid())"
      mkdir(foreign, 0o700)
      chmod(foreign, 0o777)
      let path = try UserDirectories.runtime(
        ["TMPDIR": temporary, "XDG_STATE_HOME": temporary + "/state"], system: temporary + "/none")
      #expect(path == temporary + "/state/urlsessiond-runtime")
      try PrivateDirectory.check(path)
    }
  }

  @Test func usualRuntimeDirectoryIsUsedOnlyWhenItIsPrivate() throws {
    try withTemporaryDirectory { temporary in
      let usual = "\(temporary)/\(geteuid())"
      mkdir(usual, 0o700)
      let closed = try UserDirectories.runtime(["TMPDIR": temporary], system: temporary)
      #expect(closed == usual)
      chmod(usual, 0o755)
      let open = try UserDirectories.runtime(["TMPDIR": temporary], system: temporary)
      #expect(open != usual)
    }
  }

  private static func sentence(of path: String) -> String {
    do {
      try PrivateDirectory.check(path)
      return ""
    } catch { return "\(error)" }
  }

  @Test func folderThatOthersCanChangeIsRefused() throws {
    try withTemporaryDirectory { temporary in
      let target = temporary + "/target"
      mkdir(target, 0o700)
      let link = temporary + "/link"
      symlink(target, link)
      let refusal = PrivateDirectory.Refusal.symbolicLink(link)
      #expect(throws: refusal) { try PrivateDirectory.ensure(link) }
      #expect(refusal.description == "\(link) is a symbolic link: put the folder back in its place")

      let file = temporary + "/file"
      #expect(FileManager.default.createFile(atPath: file, contents: nil))
      #expect(throws: PrivateDirectory.Refusal.notADirectory(file)) { try PrivateDirectory.ensure(file) }
      #expect([link, file].allSatisfy { !Self.sentence(of: $0).contains("remove") })

      let open = temporary + "/open"
      mkdir(open, 0o700)
      chmod(open, 0o770)
      #expect(throws: PrivateDirectory.Refusal.open(mode: 0o770, open)) { try PrivateDirectory.ensure(open) }

      // As root, the test makes a folder of another user; any other user takes the root folder, which is root's.
      if geteuid() == 0 {
        let foreign = temporary + "/foreign"
        mkdir(foreign, 0o700)
        #expect(chown(foreign, 65534, 65534) == 0)
        #expect(throws: PrivateDirectory.Refusal.belongsTo(65534, foreign)) { try PrivateDirectory.ensure(foreign) }
      } else {
        #expect(throws: PrivateDirectory.Refusal.belongsTo(0, "/")) { try PrivateDirectory.check("/") }
      }
    }
  }

  @Test func lockIsHeldByOneAtATime() throws {
    try withTemporaryDirectory { temporary in
      let path = temporary + "/lock"
      var first = try FileLock.acquire(path)
      #expect(first != nil)
      #expect(try FileLock.acquire(path) == nil)
      first = nil
      #expect(try FileLock.acquire(path) != nil)
      _ = first
    }
  }

  /// The folder of the runtime may be emptied while a process has a lock in it.
  @Test func aLockWhoseFileIsGoneIsNotHeldUnderItsName() throws {
    try withTemporaryDirectory { temporary in
      let path = temporary + "/lock"
      let lock = try #require(try FileLock.acquire(path))
      #expect(lock.isHeld(as: path))
      #expect(unlink(path) == 0 && !lock.isHeld(as: path))
      let next = try #require(try FileLock.acquire(path))
      #expect(!lock.isHeld(as: path) && next.isHeld(as: path))
    }
  }

  @Test func filesAreWrittenLinkedRenamedAndRemoved() throws {
    try withTemporaryDirectory { temporary in
      let disk = LinuxFileSystem()
      let folder = temporary + "/a/b/c"
      try disk.createDirectory(folder)
      #expect(try disk.size(of: folder + "/x") == nil)
      let file = try disk.open(folder + "/x")
      try Array("world".utf8).withUnsafeBytes { try file.write($0, at: 6) }
      try Array("hello ".utf8).withUnsafeBytes { try file.write($0, at: 0) }
      try file.sync()
      #expect(try file.size == 11)
      try file.truncate(to: 5)
      try file.close()
      try disk.link(folder + "/x", to: folder + "/y")
      #expect(throws: SystemError.self) { try disk.link(folder + "/x", to: folder + "/y") }
      try disk.rename(folder + "/x", to: folder + "/z")
      try disk.syncDirectory(folder)
      #expect(try disk.names(in: folder) == ["y", "z"])
      #expect(try String(contentsOfFile: folder + "/y", encoding: .utf8) == "hello")
      try disk.remove(folder + "/y")
      try disk.remove(folder + "/y")
      #expect(try disk.names(in: folder) == ["z"])
      #expect(try disk.names(in: temporary + "/none") == [])
      #expect(try disk.freeSpace(at: folder) > 0)

      symlink(folder + "/z", folder + "/trap")
      #expect(throws: SystemError.self) { try disk.open(folder + "/trap") }
    }
  }

  /// The bytes of the other name may have been synced, and no second name of them would have to be.
  @Test func theCopyOfAFileThatCanNotBeLinkedIsOnTheDisk() throws {
    try withTemporaryDirectory { folder in
      let disk = LinuxFileSystem()
      try Data("hello".utf8).write(to: URL(fileURLWithPath: folder + "/x"))
      var synced: [off_t] = []
      try disk.copy(folder + "/x", to: folder + "/y") { descriptor in
        var status = stat()
        synced.append(fstat(descriptor, &status) == 0 ? status.st_size : -1)
        return fsync(descriptor)
      }
      #expect(synced == [5])
      #expect(throws: SystemError(EIO, "fsync", path: folder + "/z")) {
        try disk.copy(folder + "/x", to: folder + "/z") { _ in
          errno = EIO
          return -1
        }
      }
      #expect(try disk.names(in: folder) == ["x", "y"])
    }
  }

  /// A folder of which the rest is not known is not one with fewer files.
  @Test(arguments: [0, EIO, ESTALE]) func aFolderThatCanNotBeReadToItsEndHasNoNames(code: Int32) throws {
    var entry = dirent()
    withUnsafeMutableBytes(of: &entry.d_name) { $0[0] = UInt8(ascii: "x") }
    func names() throws -> [String] {
      var isFirst = true
      return try withUnsafeMutablePointer(to: &entry) { pointer in
        try LinuxFileSystem.names(in: "/folder") {
          guard isFirst else {
            errno = code
            return nil
          }
          isFirst = false
          return pointer
        }
      }
    }
    if code == 0 {
      #expect(try names() == ["x"])
    } else {
      #expect(throws: SystemError(code, "readdir", path: "/folder")) { try names() }
    }
  }

  /// Whatever the umask allows.
  @Test func filesAndFoldersArePrivate() throws {
    try withTemporaryDirectory { temporary in
      let disk = LinuxFileSystem()
      let folder = temporary + "/a"
      try disk.createDirectory(folder)
      try disk.open(folder + "/x").close()
      var (ofFolder, ofFile) = (stat(), stat())
      #expect(lstat(folder, &ofFolder) == 0 && ofFolder.st_mode & 0o7777 == 0o700)
      #expect(lstat(folder + "/x", &ofFile) == 0 && ofFile.st_mode & 0o7777 == 0o600)
    }
  }
}
