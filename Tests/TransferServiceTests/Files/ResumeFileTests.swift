import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// The path comes in a message and the file is moved, so only files that the service or the library made are accepted.
@Suite struct ResumeFileTests {
  private let folder: TemporaryFolder
  private let files: TransferFiles
  /// As the library names the folder of its partial files.
  private let library: String

  init() throws {
    folder = try TemporaryFolder()
    files = TransferFiles(directory: folder.path, disk: LinuxFileSystem())
    try files.createDirectories()
    library = try folder.subfolder("urlsession-\(getuid())")
  }

  /// Makes the file.
  private func make(_ path: String) throws -> String {
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// For transfer 9 of an app that has transfer 7 too.
  private func isAcceptable(_ path: String) throws -> Bool {
    let file = ResumeFile(path: path, files: files, transfer: 9)
    return try file.isNamedAsOurs { $0 == 7 } && (try? file.open()) != nil
  }

  @Test(arguments: [
    ("7.A.resume", true), ("8.A.resume", false), ("A.resume", false), ("7.A.tmp", false),
    ("CFNetworkDownload_x.tmp", false),
  ])
  func acceptsWhatTheServiceHandedOutToTheApp(name: String, expected: Bool) throws {
    #expect(try isAcceptable(make("\(files.deliveryDirectory)/\(name)")) == expected)
  }

  @Test func refusesFilesElsewhereThatAreNamedAsTheServiceNamesThem() throws {
    for place in [folder.path, library, files.partialDirectory] {
      #expect(try !isAcceptable(make(place + "/7.A.resume")))
    }
  }

  @Test(arguments: [
    ("CFNetworkDownload_x.tmp", true), ("CFNetworkDownload_x", false), ("x.tmp", false), ("secret.txt", false),
    ("CFNetworkDownload_x.y.tmp", false),
  ])
  func acceptsPartialFilesOfTheLibrary(name: String, expected: Bool) throws {
    #expect(try isAcceptable(make("\(library)/\(name)")) == expected)
    let other = try folder.subfolder("urlsession-\(getuid())-Abc123")
    #expect(try isAcceptable(make("\(other)/\(name)")) == expected)
  }

  @Test func refusesPartialFilesInOtherFolders() throws {
    for name in ["downloads", "urlsession-\(getuid() + 1)", "urlsession-\(getuid())-a b"] {
      #expect(try !isAcceptable(make(folder.subfolder(name) + "/CFNetworkDownload_x.tmp")))
    }
    let file = try make(library + "/CFNetworkDownload_x.tmp")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: library)
    #expect(try !isAcceptable(file))
  }

  @Test func refusesFilesWithAnotherName() throws {
    let file = try make(library + "/CFNetworkDownload_x.tmp")
    try FileManager.default.linkItem(atPath: file, toPath: folder.path + "/other")
    #expect(try !isAcceptable(file))
  }

  @Test func acceptsAFileWhoseImportWasInterrupted() throws {
    let file = try make(library + "/CFNetworkDownload_x.tmp")
    try FileManager.default.linkItem(atPath: file, toPath: files.partial(9))
    #expect(try isAcceptable(file))
    try FileManager.default.removeItem(atPath: files.partial(9))
    try FileManager.default.linkItem(atPath: file, toPath: files.partial(7))
    #expect(try !isAcceptable(file))
  }

  @Test func refusesLinksFoldersAndRelativePaths() throws {
    let delivery = files.deliveryDirectory
    let file = try make(delivery + "/7.A.resume")
    let link = delivery + "/7.B.resume"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    #expect(try !isAcceptable(link))
    #expect(try !isAcceptable(folder.subfolder("delivery/7.C.resume")))
    #expect(try !isAcceptable(delivery + "/x/../7.A.resume"))
    #expect(try !isAcceptable("7.A.resume"))
    _ = try make(folder.path + "/CFNetworkDownload_x.tmp")
    #expect(try !isAcceptable(folder.path + "\0/urlsession-1/CFNetworkDownload_x.tmp"))
    #expect(try !isAcceptable(delivery + "/7.D.resume"))
  }

  // MARK: What happens to the path after the check

  private func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// A secret of the user, which an app can't read, gets the path of the file that was checked.
  @Test(arguments: [false, true]) func theFileThatWasCheckedIsTakenOver(copies: Bool) throws {
    let disk = FaultyFileSystem()
    let files = TransferFiles(directory: folder.path, disk: disk)
    if copies { disk.set([.init(.link, code: EXDEV, path: "partial")]) }
    let path = library + "/CFNetworkDownload_x.tmp"
    try Data("part".utf8).write(to: URL(fileURLWithPath: path))
    let opened = try ResumeFile(path: path, files: files, transfer: 9).open()
    let secret = try folder.subfolder("secret") + "/CFNetworkDownload_x.tmp"
    try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
    // Both the file and its folder are others now.
    try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: secret)
    try FileManager.default.moveItem(atPath: library, toPath: library + "-old")
    try FileManager.default.createSymbolicLink(
      atPath: library, withDestinationPath: (secret as NSString).deletingLastPathComponent)
    // As a link it would have a name that is not known.
    #expect(try files.takeOver(opened, for: 9, count: 4) == copies)
    #expect(text(files.partial(9)) == (copies ? "part" : nil))
    try opened.removeName()
    #expect(text(secret) == "secret")
    #expect(FileManager.default.fileExists(atPath: library + "-old/CFNetworkDownload_x.tmp"), "it is another file")
  }

  @Test func aFileThatHasGotAnotherNameIsNotTakenOver() throws {
    let path = try make(library + "/CFNetworkDownload_x.tmp")
    let opened = try ResumeFile(path: path, files: files, transfer: 9).open()
    try FileManager.default.linkItem(atPath: path, toPath: folder.path + "/other")
    #expect(try !files.takeOver(opened, for: 9, count: 1))
    #expect(!FileManager.default.fileExists(atPath: files.partial(9)))
    #expect(text(path) == "x")
  }

  /// Two tasks begin with the same file: one gets it.
  @Test func aFileThatAnotherImportHasTakenIsNotTakenOver() throws {
    let path = try make(library + "/CFNetworkDownload_x.tmp")
    let first = try ResumeFile(path: path, files: files, transfer: 9).open()
    let second = try ResumeFile(path: path, files: files, transfer: 10).open()
    #expect(try files.takeOver(first, for: 9, count: 1))
    #expect(try !files.takeOver(second, for: 10, count: 1), "it has a third name")
    try first.removeName()
    #expect(try !files.takeOver(second, for: 10, count: 1), "it has not the name any more")
    #expect(!FileManager.default.fileExists(atPath: files.partial(10)) && text(files.partial(9)) == "x")
  }

  /// An import was cut off, and none of its bytes count.
  @Test func aPartThatIsTheFileOfAnAppIsNotEmptied() throws {
    let path = try make(library + "/CFNetworkDownload_x.tmp")
    #expect(link(path, files.partial(9)) == 0)
    let part = try files.openPart(9)
    defer { try? part.close() }
    try part.truncate(to: 0)
    #expect(text(path) == "x" && text(files.partial(9)) == "")
  }

  @Test func theNameOfTheFileIsRemoved() throws {
    let path = try make(library + "/CFNetworkDownload_x.tmp")
    let opened = try ResumeFile(path: path, files: files, transfer: 9).open()
    #expect(try files.takeOver(opened, for: 9, count: 1))
    try opened.removeName()
    try opened.removeName()
    #expect(!FileManager.default.fileExists(atPath: path) && text(files.partial(9)) == "x")
  }

  /// A named pipe would be waited for.
  @Test func whatIsNoFileIsNotOpened() throws {
    let path = library + "/CFNetworkDownload_x.tmp"
    #expect(mkfifo(path, 0o600) == 0)
    #expect(try !isAcceptable(path))
  }

  // MARK: Other disks

  private static let memory = "/dev/shm"

  /// Whether the memory's file system is there, and another one than that of tests.
  private static let hasOtherDisk: Bool = {
    var (own, other) = (stat(), stat())
    return stat(NSTemporaryDirectory(), &own) == 0 && stat(memory, &other) == 0 && own.st_dev != other.st_dev
      && access(memory, W_OK) == 0
  }()

  /// A file of some pieces on another disk.
  private func withFileElsewhere(_ body: (OpenedResumeFile, Data) throws -> Void) throws {
    let other = "\(Self.memory)/resume-files-\(UUID().uuidString)/urlsession-\(getuid())"
    try FileManager.default.createDirectory(
      atPath: other, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: (other as NSString).deletingLastPathComponent) }
    let bytes = Data((0..<(5 << 19)).map { UInt8(truncatingIfNeeded: $0 >> 8) })
    try bytes.write(to: URL(fileURLWithPath: other + "/CFNetworkDownload_x.tmp"))
    try body(ResumeFile(path: other + "/CFNetworkDownload_x.tmp", files: files, transfer: 9).open(), bytes)
  }

  @Test(.enabled(if: hasOtherDisk)) func aFileOnAnotherDiskIsCopied() throws {
    try withFileElsewhere { opened, bytes in
      let count = Int64(bytes.count) - 7
      let isTaken = try files.takeOver(opened, for: 9, count: count)
      #expect(isTaken)
      #expect(FileManager.default.contents(atPath: files.partial(9)) == bytes.dropLast(7))
      #expect(try files.disk.names(in: files.partialDirectory) == ["9"])
      #expect(try files.takeOver(opened, for: 9, count: Int64(bytes.count) + 1) == false)
    }
  }

  /// Running transfers and other copies have still to write what they have claimed.
  @Test func aCopyClaimsTheRoomForItsBytes() throws {
    let disk = FaultyFileSystem()
    let files = TransferFiles(directory: folder.path, disk: disk)
    disk.set([.init(.link, code: EXDEV, path: "partial")])
    disk.setFreeSpace(10)
    let path = library + "/CFNetworkDownload_x.tmp"
    try Data("part".utf8).write(to: URL(fileURLWithPath: path))
    let opened = try ResumeFile(path: path, files: files, transfer: 9).open()
    #expect(files.space.claim(7, for: 1, free: 10) == nil)
    #expect(throws: SpaceReckoning.Shortage(needed: 4, available: 3)) {
      try files.takeOver(opened, for: 9, count: 4)
    }
    #expect(try files.disk.names(in: files.partialDirectory) == [] && text(path) == "part")
    files.space.wrote(1, rest: 6)
    #expect(try files.takeOver(opened, for: 9, count: 4))
    #expect(text(files.partial(9)) == "part")
    #expect(files.space.available(of: 10) == 4, "the claim of the copy is over")
  }

  /// It was given up: the transfer has begun without it.
  @Test(.enabled(if: hasOtherDisk), arguments: [1, 2, 3, 4])
  func aCopyThatIsNotAwaitedAnyMoreLeavesTheTransferAsItIs(steps: Int) throws {
    try withFileElsewhere { opened, bytes in
      _ = try make(files.partial(9))
      var left = steps
      func goesOn() -> Bool {
        left -= 1
        return left > 0
      }
      let isTaken = try files.takeOver(
        opened, for: 9, count: Int64(bytes.count), goesOn: goesOn, mayTake: { false })
      #expect(!isTaken)
      #expect(text(files.partial(9)) == "x")
      #expect(try files.disk.names(in: files.partialDirectory) == ["9"])
    }
  }
}
