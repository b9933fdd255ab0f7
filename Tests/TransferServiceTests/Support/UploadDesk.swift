import Foundation
import LoopbackServer
import Synchronization
import SystemFakes
import TransferProtocol

@testable import TransferService

/// A server of which a test scripts what becomes of uploads: one reply a request, those of each method in their order.
/// Without one left it answers 500.
final class UploadDesk: Sendable {
  private let replies: Mutex<[String: [Reply]]>

  init(_ replies: [String: [Reply]]) { self.replies = Mutex(replies) }

  private func next(_ method: String) -> Reply {
    replies.withLock { replies in
      guard var left = replies[method], !left.isEmpty else { return .status(500) }
      defer { replies[method] = left }
      return left.removeFirst()
    }
  }

  /// Runs `body` with the server and an engine. However it ends, both are shut down.
  func run(
    disk faults: [FaultyFileSystem.Fault] = [], _ body: (EngineFixture, LoopbackServer) async throws -> Void
  ) async throws {
    var options = LoopbackServer.Options()
    options.onHead = { .reply(self.next($0.method)) }
    let server = try await LoopbackServer.start(options: options) { _ in .status(500) }
    do {
      try await withEngine { fixture in
        fixture.disk.set(faults)
        try await body(fixture, server)
      }
    } catch {
      await server.shutdown()
      throw error
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// Takes the body and answers.
  static func take(_ status: Int = 200, fields: HeaderList = [], text: String = "") -> Reply {
    Reply([
      .readRequestBody(), .head(status, fields: fields + [("Content-Length", "\(text.utf8.count)")]), .body(text),
    ])
  }

  /// Offers to resume.
  static let offer = ReplyStep.informational(
    104, fields: [("Upload-Draft-Interop-Version", "6"), ("Location", "/resume/1")])

  /// Offers to resume, and neither takes the last byte nor answers. Bytes that are not read would keep the end of the
  /// connection from being seen.
  static let stall = Reply([offer, .readRequestBody(upTo: 599_999), .stall])

  static func has(_ offset: Int, complete: String = "?0") -> Reply {
    .status(204, fields: [("Upload-Offset", "\(offset)"), ("Upload-Complete", complete)])
  }
}

extension TransferDescription {
  /// An upload as a test needs it.
  static func upload(
    _ path: String, to url: String, task: Int = 1, running: Bool = true, method: String = "POST",
    headers: [HeaderField] = []
  ) -> TransferDescription {
    var description = TransferDescription.download(url, task: task, running: running, headers: headers, method: method)
    description.kind = .upload
    description.upload = UploadDescription(path: path)
    return description
  }
}
