import Foundation
import HTTPSemantics
import NIOCore

/// Judges the server's own proof of knowing the password: Authentication-Info (RFC 7616 §3.5).
///
/// It stands inside the cache and the decoding of contents: a proof is of the message as it came, an answer of 304
/// included. Where it covers the body, the bytes are given out before they are judged, and the load fails at their end.
struct AuthenticationInfo: LoadStage {
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let proof = run.carried?.proof, let head = response.head, head.speaksOfCredential else {
      return .proceed
    }
    do {
      guard let bodyProof = try proof.accepted(head.fields) else { return .proceed }
      return try AuthenticationInfo.step(bodyProof, response, head, run) ?? .proceed
    } catch {
      // No stored response stands in for one that is not the server's: it was stored for another value of Authorization.
      response.body.discard()
      return .fail(error)
    }
  }

  /// Has the body judged: at once where there is none. nil where the proof held already.
  static func step(
    _ proof: BodyProof, _ response: LoadedResponse, _ head: HTTPResponseHead, _ run: PipelineRun
  ) throws -> LoadStep? {
    if hasNoBody(head, run) {
      try proof.judge(proof.hash.hex([]), nil)
      return nil
    }
    let attempt = run.network?.attempt as? HTTPAttempt
    let body = ProvenBody(
      proof, url: run.request.urlRequest.url, trailers: { attempt?.trailers }, on: run.context.loop)
    response.body.add(body)
    // A redirect is followed before its body is read.
    guard (300..<400).contains(head.status) else { return .answer(response.changed(bodyProof: body)) }
    return .wait { .answer(response.changed(body: try await whole(response.body, run))) }
  }

  private static func hasNoBody(_ head: HTTPResponseHead, _ run: PipelineRun) -> Bool {
    if run.request.urlRequest.httpMethod == "HEAD" || head.status == 204 || head.status == 304 { return true }
    // Bytes behind the answer to a handshake are not its content.
    if run.context.upgrade != nil { return head.status == 101 || (200..<300).contains(head.status) }
    return head.fields.contentLength == 0
  }

  /// A longer body of a redirect has no honest use.
  private static let longestRedirect = 1024 * 1024

  /// The body once it is judged.
  private static func whole(_ body: LoadBody, _ run: PipelineRun) async throws -> LoadBody {
    var bytes = ByteBuffer()
    do {
      while var more = try await body.next() {
        guard bytes.readableBytes + more.readableBytes <= longestRedirect else {
          throw ErrorMapping.make(
            .userAuthenticationRequired,
            because: "The server's proof of knowing the password covers a redirect's body, which is too long to judge.")
        }
        bytes.writeBuffer(&more)
      }
    } catch {
      body.discard()
      throw error
    }
    return LoadBody(BufferedBody(bytes), in: run.context)
  }
}

extension HTTPResponseHead {
  /// Whether the server has let the request in: one that is in trouble has said nothing of the credential, and neither
  /// has a proxy that asks for its own.
  var speaksOfCredential: Bool { status < 500 && status != 401 && status != 407 }
}
