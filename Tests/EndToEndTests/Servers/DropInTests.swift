import ChildProcess
import Foundation
import LoopbackServer
import Testing

/// `background-download` imports Foundation and FoundationNetworking and nothing else.
@Suite struct DropInTests {
  @Test func aProgramThatImportsFoundationNetworkingLinksOurs() throws {
    let process = ChildProcess()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/ldd")
    process.arguments = [Programs.path("background-download")]
    process.standardOutput = output
    try process.run()
    let libraries = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(libraries.contains("libFoundation.so") && !libraries.contains("not found"))
    #expect(!libraries.contains("libFoundationNetworking"))
    // What the toolchain's library is made of.
    #expect(!libraries.contains("libcurl"))
  }
}
