#if Web
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// A request with the connection that it came on.
struct WebRequestContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}

/// Answers the requests that `WebAccess` allows.
final class WebResponder: HTTPResponder {
  typealias Context = WebRequestContext

  private let access: Mutex<WebAccess>
  private let connections: WebConnections
  private let routes: any HTTPResponder<WebRequestContext>

  private static let longestBody = 1024
  /// How often an event stream without changes says that it is alive.
  private static let keepAlive = Duration.seconds(15)

  init(source: any WebPageSource, access: WebAccess, connections: WebConnections) {
    self.access = Mutex(access)
    self.connections = connections
    routes = WebResponder.routes(of: source)
  }

  func respond(to request: Request, context: WebRequestContext) async throws -> Response {
    var response: Response
    switch access.withLock({ $0.verdict(on: WebAccess.Request(request)) }) {
    case .allowed(let path, let hasCookie):
      if hasCookie { connections.signedIn(context.channel) }
      var head = request.head
      head.path = path
      response = await answer(Request(head: head, body: request.body), context)
    case .signedIn(let cookie, let page):
      response = WebResponder.response(WebResponder.way(to: page), type: "text/html; charset=utf-8")
      response.headers[.setCookie] = cookie
    case .refused(let status, let sentence):
      let refusal = WebRefusal(status: status, sentence)
      // A person who follows a link reads the sentence.
      response =
        request.headers[.accept]?.contains("text/html") == true
        ? WebResponder.text(refusal) : WebResponder.error(refusal)
    }
    for (name, value) in WebResponder.securityFields where response.headers[name] == nil {
      response.headers[name] = value
    }
    return response
  }

  private func answer(_ request: Request, _ context: WebRequestContext) async -> Response {
    do {
      return try await routes.respond(to: request, context: context)
    } catch let refusal as WebRefusal {
      return WebResponder.error(refusal)
    } catch let error as any HTTPResponseError {
      return WebResponder.error(WebRefusal(status: error.status.code, error.status.reasonPhrase))
    } catch {
      return WebResponder.error(WebRefusal(status: 500, "\(error)"))
    }
  }

  // MARK: Routes

  private static func routes(of source: any WebPageSource) -> any HTTPResponder<WebRequestContext> {
    let router = Router(context: WebRequestContext.self)
    for file in WebPageFile.all {
      let path = RouterPath(String(file.path.dropFirst()))
      router.get(path) { _, _ in response(file.bytes, type: file.type) }
    }
    router.get("transfers") { _, _ in response(try source.snapshot()) }
    router.get("transfers/:transfer/tries") { _, context in
      response(try await source.tries(of: try transfer(in: context)))
    }
    router.get("changes") { request, _ in try changes(of: source, to: request) }
    router.get("metrics") { _, _ in
      response(Array(source.metrics().utf8), type: "text/plain; version=0.0.4; charset=utf-8")
    }
    let actions: [(RouterPath, @Sendable (Int64) -> WebAction)] = [
      ("transfers/:transfer/pause", WebAction.pause), ("transfers/:transfer/resume", WebAction.resume),
      ("transfers/:transfer/retry", WebAction.retry), ("transfers/:transfer/cancel", WebAction.cancel),
    ]
    for (path, action) in actions {
      router.post(path) { _, context in
        try await source.perform(action(try transfer(in: context)))
        return Response(status: .noContent)
      }
    }
    router.post("limit") { request, _ in
      try await source.perform(.limit(try await rate(in: request)))
      return Response(status: .noContent)
    }
    router.post("transfers/:transfer/limit") { request, context in
      try await source.perform(.limitTransfer(try transfer(in: context), try await rate(in: request)))
      return Response(status: .noContent)
    }
    return router.buildResponder()
  }

  /// In bytes per second; nil: no limit.
  private static func rate(in request: Request) async throws -> Int64? {
    let body = try await request.body.collect(upTo: longestBody)
    guard let limit = try? JSONDecoder().decode(Limit.self, from: Data(body.readableBytesView)),
      limit.bytesPerSecond.map({ $0 > 0 }) ?? true
    else { throw WebRefusal(status: 400, "A limit is a number of bytes per second above 0, or null.") }
    return limit.bytesPerSecond
  }

  private struct Limit: Decodable {
    var bytesPerSecond: Int64?
  }

  private static func transfer(in context: WebRequestContext) throws -> Int64 {
    guard let number = context.parameters.get("transfer").flatMap({ Int64($0) }) else {
      throw WebRefusal(status: 404, "A transfer has a number.")
    }
    return number
  }

  /// Server-sent events, until the browser goes.
  private static func changes(of source: any WebPageSource, to request: Request) throws -> Response {
    let events = WebEvents(try source.updates(), keepAlive: keepAlive)
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream"],
      body: .init { writer in
        try await request.body.consumeWithInboundCloseHandler { _ in
          for await update in events.updates {
            var buffer = ByteBuffer()
            if let update {
              buffer.writeString("event: \(update.kind.rawValue)\ndata: ")
              // JSON without line breaks: one line is the whole event.
              buffer.writeBytes(update.document)
              buffer.writeString("\n\n")
            } else {
              buffer.writeString(":\n\n")
            }
            try await writer.write(buffer)
          }
        } onInboundClosed: {
          events.end()
        }
        try await writer.finish(nil)
      })
  }

  // MARK: Responses

  private static func response(_ bytes: [UInt8], type: String = "application/json") -> Response {
    Response(
      status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private static func error(_ refusal: WebRefusal) -> Response {
    let document = try? JSONEncoder().encode(["error": refusal.sentence])
    return Response(
      status: HTTPResponse.Status(code: refusal.status), headers: [.contentType: "application/json"],
      body: .init(byteBuffer: ByteBuffer(bytes: document ?? Data("{}".utf8))))
  }

  private static func text(_ refusal: WebRefusal) -> Response {
    var response = response(Array("\(refusal.sentence)\n".utf8), type: "text/plain; charset=utf-8")
    response.status = HTTPResponse.Status(code: refusal.status)
    return response
  }

  /// A page that goes on to the page. A redirect would not do: where another site has the link, browsers don't send the
  /// new cookie to the place that it leads to.
  private static func way(to page: String) -> [UInt8] {
    Array(
      """
      <!doctype html>
      <html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=\(page)">
      <title>Transfers</title><p><a href="\(page)">The transfers</a></p></html>

      """.utf8)
  }

  private static let securityFields: [(HTTPField.Name, String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
    ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
  ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }
}

extension WebAccess.Request {
  init(_ request: Request) {
    self.init()
    isGet = request.method == .get
    path = request.uri.path
    token = request.uri.queryParameters["token"].map(String.init)
    host = request.head.authority
    origin = request.headers[.origin]
    site = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
    cookies = request.headers[.cookie]
    authorization = request.headers[.authorization]
    contentType = request.headers[.contentType]
  }
}
#endif
