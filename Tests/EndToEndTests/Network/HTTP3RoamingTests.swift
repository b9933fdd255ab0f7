import ChildProcess
import Foundation
import LoopbackServer
import RealServers
import Testing

/// A connection of HTTP/3 whose client gets another address (RFC 9000 §9), in network namespaces.
///
/// Where these are not permitted the tests are skipped; in continuous integration they run, and fail.
@Suite(
  .fewAtATime,
  .enabled(
    if: HTTP3Support.runsInNamespaces && PythonHTTP3.server.runsHere,
    "\(Namespaces.obstacleToCables ?? HTTP3Support.advice)"))
struct HTTP3RoamingTests {
  @Test(arguments: ["softly", "abruptly"]) func aDownloadGoesOnFromAnotherAddress(_ mode: String) async throws {
    let size = 16 << 20
    let folder = FileManager.default.temporaryDirectory.appending(path: "roaming-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let identity = try TestCertificates.shared().localhost
    let cable = try await NetworkCable(
      folder: folder,
      serving: PythonHTTP3.command(
        tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile),
        address: NetworkCable.serverAddress, folder: folder))
    defer { cable.end() }
    let command =
      cable.place + ["/usr/bin/env", "PATH=/usr/sbin:/sbin", Programs.path("connectivity-probe"), "roam", mode]
      + ["https://\(NetworkCable.serverAddress):\(cable.port)", "\(size)"]
      + [NetworkCable.address, NetworkCable.otherAddress, "cable"]
    let run = try await ProgramRun.run(command[0], Array(command.dropFirst()))
    #expect(run.status == 0, "\(run.errors)")
    let lines = run.output.split(separator: "\n").map { String($0) }
    try #require(lines.count == 3, "\(run.output)")
    #expect(lines[0] == "address=\(NetworkCable.address) connections=1")
    #expect(lines[1] == "bytes=\(size) wrong=0")
    // One that has lost its socket takes no further request.
    let connections = mode == "softly" ? "1" : ""
    #expect(lines[2].hasPrefix("address=\(NetworkCable.otherAddress) connections=\(connections)"), "\(lines[2])")
  }
}
