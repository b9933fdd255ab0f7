import Foundation

/// An installed HTTP server, started for a test with a configuration made for it, on ports of its own.
///
/// Stop it with ``stop()``; if the test process dies first, the server dies with it.
package final class RealServer: Sendable {
  /// Port of plain HTTP on 127.0.0.1.
  package let port: Int
  /// Port of HTTPS on 127.0.0.1; nil without a certificate.
  package let securePort: Int?
  /// The folder whose files are served.
  package let documentRoot: String
  private let folder: ServerFolder
  private let process: ServerProcess

  private init(
    port: Int, securePort: Int?, documentRoot: String, folder: ServerFolder, process: ServerProcess
  ) {
    self.port = port
    self.securePort = securePort
    self.documentRoot = documentRoot
    self.folder = folder
    self.process = process
  }

  deinit {
    folder.remove()
  }

  /// The plain URL of `path`, which begins with `/`.
  package func url(_ path: String = "/", host: String = "127.0.0.1") -> URL {
    url(scheme: "http", host: host, port: port, path: path)
  }

  /// The HTTPS URL of `path`; the plain one when the server has no certificate.
  package func secureURL(_ path: String = "/", host: String = "localhost") -> URL {
    guard let securePort else { return url(path) }
    return url(scheme: "https", host: host, port: securePort, path: path)
  }

  func url(scheme: String, host: String, port: Int, path: String) -> URL {
    guard let url = URL(string: "\(scheme)://\(host):\(port)\(path)") else {
      preconditionFailure("\(path) makes no URL")
    }
    return url
  }

  /// What the server wrote to its access log so far. A server may write a request's line a little after its answer.
  package var accessLog: String { folder.text(of: "access.log") }

  /// What the server wrote to its error log and printed so far.
  package var errorLog: String { folder.text(of: "error.log") + folder.text(of: "output.log") }

  package var isRunning: Bool { process.isRunning }

  /// Sends the server's main process a signal by name, such as `HUP`.
  package func signal(_ name: String) {
    process.signal(name)
  }

  /// Ends the server (TERM, after `grace` KILL), waits for its end and removes its temporary folder.
  package func stop(grace: Duration = .seconds(5)) async {
    await process.stop(grace: grace)
    folder.remove()
  }

  // MARK: Starting

  /// What a kind of server needs to be told to write its configuration.
  struct Site {
    let folder: ServerFolder
    let port: Int
    let securePort: Int?
    let tls: TLSFiles?
    let documentRoot: String
  }

  /// Starts `server` with the arguments that `configure` gives after it has written the configuration. Tries other
  /// ports when another process takes them first.
  ///
  /// - Parameter takesDatagrams: Whether the secure port is one of UDP, too, which is waited for.
  static func start(
    _ server: InstalledServer, tls: TLSFiles?, documentRoot: String?, environment: [String: String] = [:],
    takesDatagrams: Bool = false, configure: (Site) throws -> [String]
  ) async throws -> RealServer {
    let program = try server.path()
    var log = ""
    for _ in 0..<5 {
      let folder = try ServerFolder(server.program.split(separator: "/").last.map { String($0) } ?? "server")
      do {
        let site = Site(
          folder: folder, port: try freePort(), securePort: tls == nil ? nil : try freePort(), tls: tls,
          documentRoot: try documentRoot ?? folder.makeFolder("documents"))
        let process = try ServerProcess(
          program: program, arguments: try configure(site), environment: environment, log: folder.file("output.log"))
        if try await isServing(site, process, takesDatagrams: takesDatagrams) {
          return RealServer(
            port: site.port, securePort: site.securePort, documentRoot: site.documentRoot, folder: folder,
            process: process)
        }
        await process.stop()
        log = folder.text(of: "error.log") + folder.text(of: "output.log")
        folder.remove()
      } catch {
        folder.remove()
        throw error
      }
      // vsftpd says nothing.
      guard log.isEmpty || log.contains("Address already in use") else { break }
    }
    throw RealServerError.didNotStart(program: server.program, log: log)
  }

  /// Asks the ports until all of them answer; false when the process ends first or a minute and a half passes. Another
  /// process's readiness can only be polled.
  private static func isServing(
    _ site: Site, _ process: ServerProcess, takesDatagrams: Bool
  ) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(90)
    while process.isRunning && ContinuousClock.now < deadline {
      let isReady =
        site.securePort.map { isListening(on: $0) && (!takesDatagrams || hasDatagramSocket(on: $0)) } ?? true
      if isReady, isListening(on: site.port) { return process.isRunning }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  /// Whether a socket of UDP that is connected to no other has the port.
  private static func hasDatagramSocket(on port: Int) -> Bool {
    let ending = ":" + String(format: "%04X", port)
    return ["/proc/net/udp", "/proc/net/udp6"].contains { path in
      let lines = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").dropFirst() ?? []
      return lines.contains {
        let columns = $0.split(separator: " ")
        return columns.count > 2 && columns[1].hasSuffix(ending) && columns[2].hasSuffix(":0000")
      }
    }
  }
}
