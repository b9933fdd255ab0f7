import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// What a response without Content-Type is taken for, over the network: `MIMESniffingTests` has the rules.
@Suite(.overHTTP1To3) struct TypeSniffingTests {
  private static func reply(_ body: [UInt8], _ fields: HeaderList = [], status: Int = 200) -> Reply {
    .status(status, fields: fields, body: body)
  }

  private static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1, 2]

  @Test(
    arguments: [
      (reply(png), "image/png"), (reply(Array("<!DOCTYPE html><p>".utf8)), "text/html"),
      (reply(Array("plain words".utf8)), "text/plain"), (reply([0, 1, 2, 3]), "application/octet-stream"),
      // What the server says stands.
      (reply(png, [("Content-Type", "text/plain")]), "text/plain"),
      (reply([], [], status: 204), nil), (reply(png, [], status: 404), nil),
    ] as [(Reply, String?)])
  func theFirstBytesDecide(_ reply: Reply, _ type: String?) async throws {
    try await withServer({ _ in reply }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let (data, response) = try await session.data(from: server.url())
      #expect(response.mimeType == type)
      let sent = reply.steps.flatMap { step -> [UInt8] in
        if case .bytes(let bytes) = step { bytes } else { [] }
      }
      #expect(Array(data) == sent, "the body is whole")
    }
  }

  /// The response is told when its first bytes are there, and with the type that they speak of; nothing is lost.
  @Test func theDelegateHearsTheType() async throws {
    try await withServer({ _ in .chunked(["<html>", "more"]) }) { server in
      let delegate = RecordingDelegate()
      let types = Recorder<String?>()
      delegate.onResponse = { _, response in
        types.record(response.mimeType)
        return .allow
      }
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      #expect(types.all == ["text/html"])
      #expect(delegate.received.withLock { $0 } == Data("<html>more".utf8))
      #expect(delegate.metrics.all.first?.transactionMetrics.first?.response?.mimeType == "text/html")
    }
  }

  @Test func headHasNoBytesToLookAt() async throws {
    try await withServer({ _ in .status(200, body: "<html>") }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "HEAD"
      let (data, response) = try await session.data(for: request)
      #expect(data.isEmpty && response.mimeType == nil)
    }
  }
}
