import Foundation
import Testing

@testable import TransferService

/// The path comes in a message and the file is moved, so only files that the service or the library made are accepted.
@Suite struct ResumeFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func make(_ name: String) throws -> String {
    let path = "\(folder.path)/\(name)"
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test(arguments: [
    ("7.A.resume", true), ("CFNetworkDownload_x.tmp", true), ("CFNetworkDownload_x", false), ("x.tmp", false),
    ("secret.txt", false),
  ])
  func acceptsOnlyNamesOfResumeFiles(name: String, isAcceptable: Bool) throws {
    #expect(ResumeFile.isAcceptable(try make(name)) == isAcceptable)
  }

  @Test func refusesLinksFoldersAndRelativePaths() throws {
    let file = try make("7.A.resume")
    let link = folder.path + "/8.A.resume"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    #expect(!ResumeFile.isAcceptable(link))
    #expect(!ResumeFile.isAcceptable(try folder.subfolder("9.A.resume")))
    #expect(!ResumeFile.isAcceptable(folder.path + "/x/../7.A.resume"))
    #expect(!ResumeFile.isAcceptable("7.A.resume"))
    #expect(!ResumeFile.isAcceptable(folder.path + "/missing.resume"))
  }
}
