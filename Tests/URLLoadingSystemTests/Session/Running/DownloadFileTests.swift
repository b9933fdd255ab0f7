import Foundation
import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct DownloadFileTests {
  @Test func aFullDiskIsAnErrorThatSaysSo() throws {
    let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    let file = DownloadFile(descriptor: descriptor, url: URL(fileURLWithPath: "/dev/full"))
    let error = #expect(throws: URLError.self) { try file.write([ByteBuffer(string: "x")], at: 0) }
    #expect(error?.code == .cannotWriteToFile)
    #expect(error?.localizedDescription.contains("No space left on device") == true)
  }

  @Test(arguments: ["/proc", "/no/such/folder", "/dev/null"])
  func whereNoFileCanBeMade(_ folder: String) {
    let error = #expect(throws: URLError.self) { try TemporaryFile.create(in: URL(fileURLWithPath: folder)) }
    #expect(error?.code == .cannotCreateFile)
    #expect(error?.localizedDescription.contains(folder) == true)
  }

  /// Other users can neither read what was downloaded so far nor list it, whatever the umask allows.
  @Test func partialFileAndItsFolderArePrivate() throws {
    let (descriptor, url) = try TemporaryFile.create()
    defer {
      close(descriptor)
      TemporaryFile.remove(url)
    }
    var (ofFile, ofFolder) = (stat(), stat())
    #expect(fstat(descriptor, &ofFile) == 0 && ofFile.st_mode & 0o7777 == 0o600)
    #expect(lstat(url.deletingLastPathComponent().path, &ofFolder) == 0 && ofFolder.st_mode & 0o7777 == 0o700)
  }

  /// Checked here as well as where resume data is read.
  @Test(arguments: ["../../etc/passwd", "/etc/passwd", "x.tmp", "CFNetworkDownload_a/b.tmp", "CFNetworkDownload_.tmp"])
  func partialFileOfAnotherNameIsRefused(name: String) {
    let error = #expect(throws: URLError.self) { try TemporaryFile.open(named: name, size: 0) }
    #expect(error?.localizedDescription.contains("named") == true, "\(error as Any)")
  }
}
