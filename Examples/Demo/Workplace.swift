import Foundation
import URLLoadingSystem

/// A folder of the demo's own, with the XDG directories in it, so that nothing of the user's is touched.
struct Workplace {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("urlsession-demo-\(ProcessInfo.processInfo.processIdentifier)", isDirectory: true)
    for name in ["state", "cache", "runtime"] {
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent(name), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    }
    // This process and those it starts, the transfer service among them, all work there.
    setenv("XDG_STATE_HOME", path("state"), 1)
    setenv("XDG_CACHE_HOME", path("cache"), 1)
    setenv("XDG_RUNTIME_DIR", path("runtime"), 1)
    unsetenv("URLSESSIOND_SOCKET")
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// Starts one of the package's programs, which stand beside this one.
  func start(_ program: String, _ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent(program)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    return process
  }

  func servicePID() async throws -> Int32 {
    try await ServiceConnection.open(startsService: false).service.processIdentifier
  }

  func remove() {
    // The service ends by itself when its folder is gone and nothing is to be done; better to ask it now.
    let connection = DispatchSemaphore(value: 0)
    Task {
      if let pid = try? await servicePID() { kill(pid, SIGTERM) }
      connection.signal()
    }
    _ = connection.wait(timeout: .now() + 5)
    try? FileManager.default.removeItem(at: folder)
  }
}
