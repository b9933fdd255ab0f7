import Foundation
import HTTPSemantics
import NIOCore

/// Gives a response without Content-Type the type that its first bytes speak of, before the app sees it.
struct TypeSniffing: LoadStage {
  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    // Bytes behind the answer to a handshake are another protocol, if they come at all.
    guard run.context.upgrade == nil, let head = response.head, (200..<300).contains(head.status), head.status != 204,
      !head.fields.contains("Content-Type"), run.request.urlRequest.httpMethod != "HEAD",
      let url = response.response.url
    else { return .proceed }
    do {
      switch try response.body.takePart() {
      case .bytes(let first): return answer(response, head, url, first)
      case .end: return answer(response, head, url, nil)
      case .pending, .busy: return .wait { answer(response, head, url, try await response.body.next()) }
      }
    } catch {
      return .fail(error)
    }
  }

  /// - Parameter first: The first bytes of the body, which are pulled again; nil for none.
  private func answer(_ response: LoadedResponse, _ head: HTTPResponseHead, _ url: URL, _ first: ByteBuffer?)
    -> LoadStep
  {
    if let first { response.body.putBack(first) }
    let type = MIMESniffing.mediaType(of: first?.readableBytesView ?? ByteBufferView())
    let answer = HTTPURLResponse(url: url, head: head, mimeType: type)
    response.record?.response = answer
    return .answer(response.changed(response: answer))
  }
}
