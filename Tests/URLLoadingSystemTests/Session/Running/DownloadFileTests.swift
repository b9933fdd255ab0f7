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
}
