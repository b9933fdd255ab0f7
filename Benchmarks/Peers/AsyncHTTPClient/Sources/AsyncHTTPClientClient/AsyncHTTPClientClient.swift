import AsyncHTTPClient
import Foundation
import Harness
import NIOCore
import NIOHTTP1
import NIOSSL

/// Loads through async-http-client, set up as our sessions are: HTTP/1.1 unless it is told otherwise, as many
/// connections as asked for.
@main
enum AsyncHTTPClientClient {
  static func main() async throws {
    let assignment = Assignment.fromCommandLine()
    var configuration = HTTPClient.Configuration()
    configuration.httpVersion = assignment.isHTTP2 ? .automatic : .http1Only
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = assignment.connectionsPerHost
    if let proxy = assignment.tunnel, let host = proxy.host, let port = proxy.port {
      configuration.proxy = .server(host: host, port: port)
    }
    if let authority = assignment.certificateAuthority {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(authority)
      configuration.tlsConfiguration = tls
    }
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    switch (assignment.work, assignment.mode) {
    case (.small, "async"): try await smallGets(client, assignment)
    case (.tasks, "async"), (.scattered, "async"): try await manyGets(client, assignment)
    case (.one, "async"): try await oneGet(client, assignment)
    case (.large, "memory"): try await intoMemory(client, assignment)
    case (.large, "delegate"): try await throughDelegate(client, assignment)
    case (.large, "bytes"): try await throughBytes(client, assignment)
    case (.large, "file"): try await intoFile(client, assignment)
    default: fail("no \(assignment.work) loads through \(assignment.mode)")
    }
  }

  static func smallGets(_ client: HTTPClient, _ assignment: Assignment) async throws {
    let counter = ResponseCounter()
    let urls = assignment.smallURLs.map(\.absoluteString)
    for number in 0..<assignment.concurrent {
      let url = urls[number % urls.count]
      Task {
        do {
          while true {
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
            let body = try await response.body.collect(upTo: assignment.bytes)
            verify(status: Int(response.status.code), bytes: body.readableBytes, expected: assignment.bytes)
            counter.add()
          }
        } catch { fail("\(error)") }
      }
    }
    try await counter.report(assignment)
  }

  static func oneGet(_ client: HTTPClient, _ assignment: Assignment) async throws {
    try await reportMemory {
      let request = HTTPClientRequest(url: assignment.url.absoluteString)
      let response = try await client.execute(request, timeout: .seconds(60))
      let body = try await response.body.collect(upTo: assignment.bytes)
      verify(status: Int(response.status.code), bytes: body.readableBytes, expected: assignment.bytes)
    }
  }

  /// As many calls at once as there are to be.
  static func manyGets(_ client: HTTPClient, _ assignment: Assignment) async throws {
    let urls = (assignment.work == .scattered ? assignment.scatteredURLs : [assignment.url]).map(\.absoluteString)
    try await reportRate(of: assignment) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<assignment.count {
          let url = urls[number % urls.count]
          group.addTask {
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .minutes(5))
            let body = try await response.body.collect(upTo: assignment.bytes)
            verify(status: Int(response.status.code), bytes: body.readableBytes, expected: assignment.bytes)
          }
        }
        try await group.waitForAll()
      }
    }
  }

  static func intoMemory(_ client: HTTPClient, _ assignment: Assignment) async throws {
    let request = HTTPClientRequest(url: assignment.url.absoluteString)
    try await reportThroughput(of: assignment) {
      let response = try await client.execute(request, timeout: .minutes(5))
      let body = try await response.body.collect(upTo: assignment.bytes)
      verify(status: Int(response.status.code), bytes: body.readableBytes, expected: assignment.bytes)
    }
  }

  static func throughBytes(_ client: HTTPClient, _ assignment: Assignment) async throws {
    let request = HTTPClientRequest(url: assignment.url.absoluteString)
    try await reportThroughput(of: assignment) {
      let response = try await client.execute(request, timeout: .minutes(5))
      var count = 0
      var sum: UInt8 = 0
      for try await buffer in response.body {
        for byte in buffer.readableBytesView {
          count += 1
          sum &+= byte
        }
      }
      verify(status: Int(response.status.code), bytes: count, expected: assignment.bytes)
      keep(sum)
    }
  }

  static func throughDelegate(_ client: HTTPClient, _ assignment: Assignment) async throws {
    let request = try HTTPClient.Request(url: assignment.url)
    try await reportThroughput(of: assignment) {
      let (status, bytes) = try await client.execute(request: request, delegate: CountingDelegate()).get()
      verify(status: status, bytes: bytes, expected: assignment.bytes)
    }
  }

  static func intoFile(_ client: HTTPClient, _ assignment: Assignment) async throws {
    let path = assignment.directory.appendingPathComponent("async-http-client.download").path
    let request = try HTTPClient.Request(url: assignment.url)
    let delegate = try FileDownloadDelegate(path: path)
    try await reportThroughput(of: assignment) {
      let progress = try await client.execute(request: request, delegate: delegate).get()
      verify(status: Int(progress.head.status.code), bytes: progress.receivedBytes, expected: assignment.bytes)
    }
  }
}

/// Counts a body's bytes; confined to the request's event loop.
final class CountingDelegate: HTTPClientResponseDelegate, @unchecked Sendable {
  private var status = 0
  private var bytes = 0

  func didReceiveHead(task: HTTPClient.Task<(Int, Int)>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    status = Int(head.status.code)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(task: HTTPClient.Task<(Int, Int)>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    bytes += buffer.readableBytes
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<(Int, Int)>) throws -> (Int, Int) { (status, bytes) }
}
