import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// What `ScriptedProtocol` does with the requests to one host. Each has a host of its own.
final class ProtocolScript: Sendable {
  typealias Step = @Sendable (ScriptedProtocol) -> Void

  let host = "\(UUID().uuidString.lowercased()).test"
  /// The requests of the objects that were started.
  let requests = Recorder<URLRequest>()
  /// The URLs of the objects that were stopped.
  let stops = Recorder<String>()
  let start: Step

  private struct Reference {
    weak var script: ProtocolScript?
  }

  private static let scripts = Mutex<[String: Reference]>([:])

  /// - Parameter start: What an object does in `startLoading()`.
  init(_ start: @escaping Step) {
    self.start = start
    ProtocolScript.scripts.withLock { $0[host] = Reference(script: self) }
  }

  deinit { ProtocolScript.scripts.withLock { $0[host] = nil } }

  static func find(_ url: URL?) -> ProtocolScript? {
    guard let host = url?.host else { return nil }
    return scripts.withLock { $0[host] }?.script
  }

  func url(_ path: String = "/", scheme: String = "http") throws -> URL {
    guard let url = URL(string: "\(scheme)://\(host)\(path)") else { throw URLError(.badURL) }
    return url
  }

  /// A session whose requests to the script's host are loaded by the script.
  func session(
    _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.loopback
    configuration.protocolClasses = [ScriptedProtocol.self]
    change(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }
}

/// Loads requests to the hosts of `ProtocolScript` objects, as these say.
final class ScriptedProtocol: URLProtocol, @unchecked Sendable {
  // Sendable by hand: no state of its own.

  override class func canInit(with request: URLRequest) -> Bool { ProtocolScript.find(request.url) != nil }

  override func startLoading() {
    guard let script = ProtocolScript.find(request.url) else { return fail(URLError(.cannotFindHost)) }
    script.requests.record(request)
    script.start(self)
  }

  override func stopLoading() { ProtocolScript.find(request.url)?.stops.record(request.url?.path ?? "") }

  func respond(
    _ status: Int = 200, _ fields: [String: String] = [:], policy: URLCache.StoragePolicy = .notAllowed
  ) {
    guard let response = response(status, fields) else { return fail(URLError(.badURL)) }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: policy)
  }

  func response(_ status: Int, _ fields: [String: String] = [:]) -> HTTPURLResponse? {
    request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    }
  }

  func load(_ text: String) { client?.urlProtocol(self, didLoad: Data(text.utf8)) }

  func finish() { client?.urlProtocolDidFinishLoading(self) }

  func fail(_ error: any Error) { client?.urlProtocol(self, didFailWithError: error) }

  func answer(_ text: String) {
    respond()
    load(text)
    finish()
  }

  /// Redirects to a path of the same host, with status 302.
  func redirect(to path: String, _ change: (inout URLRequest) -> Void = { _ in }) {
    guard let url = request.url, let target = URL(string: path, relativeTo: url), let response = response(302) else {
      return fail(URLError(.badURL))
    }
    var next = request
    next.url = target.absoluteURL
    change(&next)
    client?.urlProtocol(self, wasRedirectedTo: next, redirectResponse: response)
  }

  /// The body of the request, read to its end.
  var body: String {
    guard let stream = request.httpBodyStream else { return "no stream" }
    stream.open()
    defer { stream.close() }
    var (body, buffer) = (Data(), [UInt8](repeating: 0, count: 1000))
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { return String(decoding: body, as: UTF8.self) }
      body.append(contentsOf: buffer[..<count])
    }
  }
}

/// The code of the `URLError` that `body` throws; nil where it throws none.
func failure(_ body: () async throws -> Void) async -> URLError.Code? {
  do {
    try await body()
    return nil
  } catch { return (error as? URLError)?.code }
}
