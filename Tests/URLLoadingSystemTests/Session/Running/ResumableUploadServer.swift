import Foundation
import HTTPTypes
import LoopbackServer
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload
import Synchronization
import URLLoadingSystem

/// A server of resumable uploads that somebody else wrote: the handler of swift-nio-extras, and beneath it scissors that
/// cut connections or hold them up.
final class ResumableUploadServer: Sendable {
  /// What becomes of a connection, in the order in which connections come; those after the last are left alone.
  enum Fate: Sendable {
    case untouched
    /// Closed once so many bytes have come over it.
    case cut(after: Int)
    /// Not read any further once so many bytes have come.
    case stall(after: Int)
  }

  /// An upload that has arrived in full.
  struct Upload: Sendable {
    var path: String?
    var body: [UInt8]
  }

  struct State: Sendable {
    var fates: [Fate]
    var connections = 0
    var open = 0
    /// Method and version of each request, as it came in.
    var requests: [String] = []
    var uploads: [Upload] = []
  }

  let state: Monitor<State>
  private let listener: any Channel
  private let children = Mutex<[any Channel]>([])

  private init(listener: any Channel, state: Monitor<State>) {
    self.listener = listener
    self.state = state
  }

  /// - Parameter isAbsolute: Whether the server says with a whole URL where an upload is, or with a path.
  static func start(_ fates: [Fate] = [], isAbsolute: Bool = true) async throws -> ResumableUploadServer {
    let state = Monitor(State(fates: fates))
    let uploads = Mutex<HTTPResumableUploadContext?>(nil)
    // Held by the closure below for as long as it listens.
    let context: @Sendable () -> HTTPResumableUploadContext? = { uploads.withLock { $0 } }
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard let context = context() else { throw ChannelError.ioOnClosedChannel }
          let fate = state.update { state -> Fate in
            state.connections += 1
            state.open += 1
            return state.fates.isEmpty ? .untouched : state.fates.removeFirst()
          }
          channel.closeFuture.whenComplete { _ in state.update { $0.open -= 1 } }
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(Scissors(fate))
          try pipeline.configureHTTPServerPipeline()
          try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
          try pipeline.addHandler(Witness(state))
          try pipeline.addHandler(
            HTTPResumableUploadHandler(context: context) { child in
              try? child.pipeline.syncOperations.addHandler(Taker(state))
            })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let origin = "http://127.0.0.1:\(listener.localAddress?.port ?? 0)"
    uploads.withLock { $0 = HTTPResumableUploadContext(origin: isAbsolute ? origin : "") }
    return ResumableUploadServer(listener: listener, state: state)
  }

  /// Runs `body` with a server, and proves afterwards that no connection was left behind.
  static func run(
    _ fates: [Fate] = [], isAbsolute: Bool = true, _ body: (ResumableUploadServer) async throws -> Void
  ) async throws {
    let server = try await start(fates, isAbsolute: isAbsolute)
    do { try await body(server) } catch {
      try? await server.listener.close()
      throw error
    }
    _ = try await within(patience, "connections to be closed") {
      try await server.state.wait { $0.open == 0 ? true : nil }
    }
    try await server.listener.close()
  }

  /// A request that uploads.
  func request(version: Int? = nil) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    if let version { request.setValue("\(version)", forHTTPHeaderField: "Upload-Draft-Interop-Version") }
    return request
  }

  private var url: URL {
    URL(string: "http://127.0.0.1:\(listener.localAddress?.port ?? 0)/photos") ?? URL(fileURLWithPath: "/")
  }
}

/// Ends or holds up a connection after a number of bytes.
private final class Scissors: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private let fate: ResumableUploadServer.Fate
  private var received = 0
  private var isStalled = false

  init(_ fate: ResumableUploadServer.Fate) { self.fate = fate }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // At the end of a connection the loop reads what is left, asked or not.
    if isStalled { return }
    let bytes = unwrapInboundIn(data)
    received += bytes.readableBytes
    context.fireChannelRead(data)
    switch fate {
    case .cut(let limit) where received >= limit: context.close(promise: nil)
    case .stall(let limit) where received >= limit: isStalled = true
    default: break
    }
  }

  func read(context: ChannelHandlerContext) {
    if !isStalled { context.read() }
  }
}

/// Writes down which requests came.
private final class Witness: ChannelInboundHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  private let state: Monitor<ResumableUploadServer.State>

  init(_ state: Monitor<ResumableUploadServer.State>) { self.state = state }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let request) = unwrapInboundIn(data) {
      let version = HTTPField.Name("Upload-Draft-Interop-Version").flatMap { request.headerFields[$0] }
      let line = "\(request.method.rawValue) \(version ?? "-")"
      state.update { $0.requests.append(line) }
    }
    context.fireChannelRead(data)
  }
}

/// The application behind the protocol: it sees one request, whatever the number of parts that it came in.
private final class Taker: ChannelInboundHandler {
  typealias InboundIn = HTTPRequestPart
  typealias OutboundOut = HTTPResponsePart

  private let state: Monitor<ResumableUploadServer.State>
  private var upload = ResumableUploadServer.Upload(path: nil, body: [])

  init(_ state: Monitor<ResumableUploadServer.State>) { self.state = state }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let request): upload.path = request.path
    case .body(let bytes): upload.body += bytes.readableBytesView
    case .end:
      let upload = self.upload
      state.update { $0.uploads.append(upload) }
      let text = "\(upload.body.count) bytes"
      var response = HTTPResponse(status: .created)
      response.headerFields[.contentLength] = "\(text.utf8.count)"
      context.write(wrapOutboundOut(.head(response)), promise: nil)
      context.write(wrapOutboundOut(.body(ByteBuffer(string: text))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
}
