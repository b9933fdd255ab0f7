import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Runs `body` with a scripted FTP server and a session, and proves afterwards that no connection was left behind.
func withFTP(
  _ script: FTPScript, host: String = "127.0.0.1", delegate: RecordingDelegate = RecordingDelegate(),
  configure: (URLSessionConfiguration) -> Void = { _ in },
  _ body: (ScriptedFTPServer, URLSession, RecordingDelegate) async throws -> Void
) async throws {
  var options = LoopbackServer.Options()
  options.host = host
  let server = try await ScriptedFTPServer.start(script, options: options)
  let configuration = URLSessionConfiguration.ephemeral
  configure(configuration)
  let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  do { try await body(server, session, delegate) } catch {
    session.invalidateAndCancel()
    await server.shutdown()
    throw error
  }
  session.invalidateAndCancel()
  try await server.expectNoOpenConnections()
  await server.shutdown()
}

extension ScriptedFTPServer {
  func url(_ path: String, user: String = "", host: String = "127.0.0.1") throws -> URL {
    try #require(URL(string: "ftp://\(user)\(host):\(port)\(path)"))
  }
}
