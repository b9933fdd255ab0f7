import Crypto
import Foundation
import HTTPSemantics
import HTTPTransport

/// The load of a WebSocket task: the handshake through the pipeline, then the conversation.
///
/// The pipeline loads an http or https URL; the app sees ws and wss.
final class WebSocketLoad: TaskLoad, @unchecked Sendable {
  // Sendable by hand: a constant besides its superclass.
  private let socketTask: URLSessionWebSocketTask

  init(task: URLSessionWebSocketTask, start: TaskStart) {
    socketTask = task
    super.init(task: task, start: start)
  }

  override var isPlain: Bool { false }

  override func shown(_ request: URLRequest) -> URLRequest { request.withWebSocketURL }

  override func loaded(_ request: URLRequest) -> URLRequest { request.withHTTPURL }

  override func perform(in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    let task = socketTask
    let request = try await beginRequest(in: context)
    if let lane = delivery?.lane { task.mailbox.use(lane) }
    guard let url = request.url, let httpURL = WebSocketURL.http(url) else {
      throw ErrorMapping.make(
        .unsupportedURL, because: "A WebSocket needs a URL with the scheme ws, wss, http or https.")
    }
    do {
      let (stream, agreement) = try await shakeHands(task, request, httpURL, in: context)
      // An open connection may be silent for as long as both sides like.
      context.control.stopTimers()
      let session = self.session
      delivery?.post(.didOpenWebSocket) {
        $0.webSocket?.urlSession(session, webSocketTask: task, didOpenWithProtocol: agreement.subprotocol)
      }
      let conversation = try WebSocketConversation(
        task: task, stream: stream, compression: agreement.compression, context: context
      ) { [delivery] closing in
        delivery?.post(.didCloseWebSocket) {
          $0.webSocket?.urlSession(session, webSocketTask: task, didCloseWith: closing.code, reason: closing.reason)
        }
      }
      try await conversation.run()
      return .nothing
    } catch { throw WebSocketURL.namingWebSocket(in: ErrorMapping.urlError(error, url: nil), orElse: url) }
  }

  private func shakeHands(
    _ task: URLSessionWebSocketTask, _ request: URLRequest, _ httpURL: URL, in context: LoadContext
  ) async throws -> (any DuplexStream, WebSocketHandshake.Agreement) {
    guard let protocols = WebSocketHandshake.offer(task.offeredProtocols.withLock { $0 }) else {
      throw ErrorMapping.make(
        .badURL, because: "The request can't be sent: the name of a subprotocol is not a token of HTTP.")
    }
    context.upgrade = ProtocolUpgrade(name: "websocket") { request, change in
      WebSocketHandshake.fields(
        key: change == .upgrade ? WebSocketLoad.newKey() : nil, subprotocols: protocols, request: request)
    }
    var handshake = request
    handshake.url = httpURL
    handshake.httpMethod = "GET"
    handshake.httpBody = nil
    handshake.httpBodyStream = nil
    let loaded = try await LoadPipeline.load(LoadRequest(handshake), in: context)
    if let head = loaded.head, let url = loaded.response.url {
      task.noteResponse(HTTPURLResponse(url: WebSocketURL.webSocket(url), head: head))
    }
    do {
      let agreement = try WebSocketLoad.agreement(loaded.head, context.transactions.last?.sentHead)
      return (try await loaded.body.takeOver(), agreement)
    } catch {
      loaded.body.discard()
      throw error
    }
  }

  private static func agreement(
    _ head: HTTPResponseHead?, _ request: HTTPRequestHead?
  ) throws -> WebSocketHandshake.Agreement {
    guard let head, let request else {
      throw ErrorMapping.make(.badServerResponse, because: "The handshake ended without a response.")
    }
    let isTunnel = request.connectProtocol != nil
    let key = request.fields["Sec-WebSocket-Key"] ?? ""
    let digest = Insecure.SHA1.hash(data: Data((key + WebSocketHandshake.acceptSuffix).utf8))
    do {
      guard !isTunnel else { return try WebSocketHandshake.agree(onTunnel: head, to: request.fields) }
      return try WebSocketHandshake.agree(on: head, to: request.fields, accept: Data(digest).base64EncodedString())
    } catch {
      throw ErrorMapping.make(
        .badServerResponse, because: "The server's answer opens no WebSocket: \(error.sentence).")
    }
  }

  /// RFC 6455 §4.1: sixteen random bytes.
  private static func newKey() -> String {
    Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
  }
}
