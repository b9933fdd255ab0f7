import ChildProcess
import Foundation
import RealServers
import Testing

/// Loads in a network namespace of their own, in which there is no network at first: not even the loopback interface.
///
/// Where namespaces are not permitted the tests are skipped; in continuous integration they run, and fail.
@Suite(.fewAtATime, .enabled(if: Namespace.isPermittedOrMustBe, "\(Namespace.advice)"))
struct ConnectivityTests {
  @Test(
    arguments: [
      // Without waiting there is no connection to the Internet (-1009).
      ("refuses", "waiting=0 status=0 code=-1009"),
      // Told once, although a first change brought no network; the request's own limit passed twice meanwhile.
      ("waits", "waiting=1 status=200 code=0"),
      // The limit of the whole resource goes on while the load waits (-1001).
      ("expires", "waiting=1 status=0 code=-1001"),
    ])
  func withoutANetwork(_ mode: String, _ outcome: String) throws {
    let (status, output, errors) = try Namespace.run(Programs.path("connectivity-probe"), mode)
    #expect(status == 0, "\(errors)")
    #expect(output == outcome + "\n", "\(errors)")
  }

  /// The only way leads over an interface that is a modem (8) to NetworkManager.
  @Test(
    .enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"),
    arguments: [
      // Not connected to the Internet (-1009), because the network is a mobile one (0).
      ("keeps-off", "waiting=0 status=0 code=-1009 reason=0"), ("moves", "waiting=1 status=200 code=0"),
    ])
  func whereTheNetworkIsAMobileOne(_ mode: String, _ outcome: String) async throws {
    let manager = try await MockNetworkManager.start([.init("cell0", type: 8)])
    let (status, output, errors) = try Namespace.run(
      Programs.path("connectivity-probe"), mode, environment: ["DBUS_SYSTEM_BUS_ADDRESS": manager.address])
    #expect(status == 0, "\(errors)")
    #expect(output == outcome + "\n", "\(errors)")
    await manager.stop()
  }
}

/// Runs programs in a fresh network namespace, by way of util-linux's `unshare`.
private enum Namespace {
  static let advice = "network namespaces are not permitted here (unshare -rn), or util-linux or iproute2 is missing"

  static var isPermittedOrMustBe: Bool {
    if !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty { return true }
    let tried = try? run("/usr/bin/env", "ip", "link", "show", "lo")
    return tried?.status == 0
  }

  static func run(
    _ program: String, _ arguments: String..., environment more: [String: String] = [:]
  ) throws -> (status: Int32, output: String, errors: String) {
    let process = ChildProcess()
    let output = Pipe(), errors = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // A user namespace of its own makes it root there, so that it may bring up the interface.
    process.arguments = ["unshare", "--map-root-user", "--net", program] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    var environment = ProcessInfo.processInfo.environment
    // Where `ip` is, which a user's PATH often lacks.
    environment["PATH"] = (environment["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    process.environment = environment.merging(more) { $1 }
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    let complaint = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text, complaint)
  }
}
