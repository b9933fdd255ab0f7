import Foundation
import Glibc
import LoopbackServer
import NIOCore
import NIOPosix
import Testing
import URLLoadingSystem

private enum MultipathKernel {
  /// In continuous integration the tests run, and fail where the kernel can't.
  static var runsHere: Bool {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 262)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0 || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty
  }
}

/// Multipath TCP (RFC 8684), as far as the kernel offers it.
@Suite(.enabled(if: MultipathKernel.runsHere, "the kernel has no multipath TCP: sysctl net.mptcp.enabled=1"))
struct MultipathTests {
  /// Answers whatever comes first.
  private final class Answer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let response = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere")
      context.writeAndFlush(wrapOutboundOut(response), promise: nil)
    }
  }

  private func isMultipath(
    _ url: URL, _ type: URLSessionConfiguration.MultipathServiceType
  ) async throws -> Bool {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.multipathServiceType = type
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }
    let metrics = try await MetricsTests.metrics(URLRequest(url: url), in: session)
    let transaction = try #require(metrics.transactionMetrics.first)
    #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
    return transaction.isMultipath
  }

  @Test(arguments: [.none, .handover, .interactive, .aggregate] as [URLSessionConfiguration.MultipathServiceType])
  func aServerThatKnowsItSpeaksIt(_ type: URLSessionConfiguration.MultipathServiceType) async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .enableMPTCP(true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Answer()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
    #expect(try await isMultipath(url, type) == (type != .none))
    try await server.close()
  }

  @Test func aServerThatDoesNotKnowItIsReachedAllTheSame() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    #expect(try await !isMultipath(server.url(), .handover))
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
