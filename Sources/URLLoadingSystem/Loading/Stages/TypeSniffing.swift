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
    return .wait {
      let first = try await response.body.next()
      if let first { response.body.putBack(first) }
      let type = MIMESniffing.mediaType(of: first?.readableBytesView ?? ByteBufferView())
      let answer = HTTPURLResponse(url: url, head: head, mimeType: type)
      response.record?.response = answer
      return .answer(response.changed(response: answer))
    }
  }
}
