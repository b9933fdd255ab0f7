import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// A server of which a test scripts what becomes of an upload: one reply a request, those of POST, HEAD and PATCH each
/// in their order. Without one left it answers 500.
final class UploadScript: Sendable {
  static let size = 600_000
  static let body = Data(BytePattern().bytes(count: size))

  private let replies: Mutex<[String: [Reply]]>

  init(post: [Reply], head: [Reply] = [], patch: [Reply] = []) {
    replies = Mutex(["POST": post, "HEAD": head, "PATCH": patch])
  }

  private func next(_ method: String) -> Reply {
    replies.withLock { replies in
      guard var left = replies[method], !left.isEmpty else { return .status(500) }
      defer { replies[method] = left }
      return left.removeFirst()
    }
  }

  func run(_ body: (LoopbackServer) async throws -> Void) async throws {
    var options = LoopbackServer.Options()
    options.onHead = { head in head.method == "HEAD" ? .readBody : .reply(self.next(head.method)) }
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls(), options: options) {
      self.next($0.method)
    }
    do { try await body(server) } catch {
      await server.shutdown()
      throw error
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Offers to resume, takes `count` bytes and breaks off.
  static func cut(after count: Int64, limit: String? = nil, version: String = "6", _ ending: ReplyStep = .reset)
    -> Reply
  {
    var steps = [offer(limit: limit, version: version), .readRequestBody(upTo: count)]
    // Bytes that nobody reads would keep the end of the connection from being seen.
    if case .stall = ending { steps.append(.readRequestBody(upTo: Int64(size) - 1)) }
    return Reply(steps + [ending])
  }

  static func offer(limit: String? = nil, version: String = "6") -> ReplyStep {
    .informational(
      104,
      fields: [("Upload-Draft-Interop-Version", version), ("Location", "/resume/1")]
        + (limit.map { [("Upload-Limit", $0)] } ?? []))
  }

  static func has(_ offset: Int, complete: String = "?0") -> Reply {
    .status(204, fields: [("Upload-Offset", "\(offset)"), ("Upload-Complete", complete)])
  }

  /// Takes the body and answers.
  static func take(_ status: Int = 200, fields: [(String, String)] = [], text: String = "") -> Reply {
    Reply([
      .readRequestBody(), .head(status, fields: fields + [("Content-Length", "\(text.utf8.count)")]), .body(text),
    ])
  }

  static var request: (LoopbackServer) -> URLRequest {
    { server in
      var request = URLRequest(url: server.url("/upload"))
      request.httpMethod = "POST"
      request.setValue("image/x-test", forHTTPHeaderField: "Content-Type")
      request.setValue("secret", forHTTPHeaderField: "Authorization")
      return request
    }
  }
}
