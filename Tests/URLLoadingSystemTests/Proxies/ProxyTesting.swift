import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// A dictionary that leads plain HTTP, or everything, to a proxy on this machine.
func proxyDictionary(http port: Int? = nil, https: Int? = nil, socks: Int? = nil) -> [AnyHashable: Any] {
  var dictionary: [AnyHashable: Any] = [:]
  for (name, port) in [("HTTP", port), ("HTTPS", https), ("SOCKS", socks)] {
    guard let port else { continue }
    dictionary[name + "Enable"] = 1
    dictionary[name + "Proxy"] = "127.0.0.1"
    dictionary[name + "Port"] = port
  }
  return dictionary
}

/// A session with these proxies, and what its tasks measured.
func withProxies(
  _ set: (URLSessionConfiguration) -> Void, delegate: RecordingDelegate = RecordingDelegate(),
  _ body: (URLSession, RecordingDelegate) async throws -> Void
) async throws {
  let configuration = URLSessionConfiguration.ephemeral
  set(configuration)
  let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  do { try await body(session, delegate) } catch {
    session.invalidateAndCancel()
    throw error
  }
  session.invalidateAndCancel()
}

func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// A port of this machine on which nothing listens.
func closedPort() async throws -> Int { try UnservedPort.shared.get().number }

/// A configuration that tunnels everything through an HTTP proxy on this machine.
func tunnelling(_ port: Int, name: String? = nil) -> ProxyConfiguration {
  let number = NWEndpoint.Port(rawValue: UInt16(port)) ?? .any
  var proxy = ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: number))
  if let name { proxy.applyCredential(username: name, password: "secret") }
  return proxy
}

/// A session whose proxy, and the server behind it, is `script`.
func withScriptedProxy(
  _ script: @escaping @Sendable (ServerConnection) async throws -> Void,
  _ set: (URLSessionConfiguration, Int) -> Void, _ body: (URLSession, RecordingDelegate) async throws -> Void
) async throws {
  let proxy = try await LoopbackServer.startRaw(script: script)
  try await withProxies({ set($0, proxy.port) }, body)
  try await proxy.expectNoOpenConnections()
  #expect(proxy.failures.isEmpty)
  await proxy.shutdown()
}
