import Foundation
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
    try ResumeFile(path: path, files: files, transfer: 9).isAcceptable { $0 == 7 }
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
    #expect(try !isAcceptable(delivery + "/7.D.resume"))
  }
}
