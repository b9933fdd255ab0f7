import Foundation
import HTTPTransport

/// The server at the other end of a stream task's connection.
struct StreamServer: Sendable {
  let host: String
  let port: Int

  init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// The server of a response's URL; nil when that names no host.
  init?(_ url: URL?) {
    guard let url, let host = url.host else { return nil }
    self.init(host: host, port: url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80))
  }

  /// Makes `stream` a TLS connection. The task's delegate is asked, as for any connection of a task.
  func secure(_ stream: any DuplexStream, in context: LoadContext) async throws {
    let handshake = LoadHandshake(context, host: host, port: port, isForHTTP: false)
    try await stream.startTLS(TLSTerms(host: host, port: port, handshake: handshake, transport: context.transport))
  }
}
