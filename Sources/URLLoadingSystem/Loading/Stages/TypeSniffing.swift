import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// Gives a response without Content-Type the type that its first bytes speak of, before the app sees it.
struct TypeSniffing: LoadStage {
  func load(_ request: LoadRequest, in context: LoadContext, next: LoadPipeline.Next) async throws -> LoadedResponse {
    var loaded = try await next(request, context)
    // Behind the answer to a handshake comes another protocol, when it comes.
    guard context.upgrade == nil else { return loaded }
    guard let head = loaded.head, (200..<300).contains(head.status), head.status != 204,
      !head.fields.contains("Content-Type"), request.urlRequest.httpMethod != "HEAD", let url = loaded.response.url
    else { return loaded }
    let first = try await loaded.body.next()
    let type = MIMESniffing.mediaType(of: first?.readableBytesView ?? ByteBufferView())
    let response = HTTPURLResponse(url: url, head: head, mimeType: type)
    context.transactions.last?.response = response
    loaded.response = response
    loaded.body = ResumedBody(first: first, rest: loaded.body)
    return loaded
  }
}

/// A body whose first piece was looked at already.
final class ResumedBody: LoadBody, @unchecked Sendable {
  private var first: ByteBuffer?
  private let rest: any LoadBody

  init(first: ByteBuffer?, rest: any LoadBody) {
    self.first = first
    self.rest = rest
  }

  func next() async throws -> ByteBuffer? {
    if let first {
      self.first = nil
      return first
    }
    return try await rest.next()
  }

  func takeOver() async throws -> any DuplexStream {
    let stream = try await rest.takeOver()
    if let first { stream.unread(first) }
    first = nil
    return stream
  }

  func discard() {
    first = nil
    rest.discard()
  }
}
