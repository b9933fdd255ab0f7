import HTTPSemantics

/// The head of a message as people read it: the first line, and the fields in the order in which they went over the wire.
package struct MessageHeadText: Sendable {
  package let firstLine: String
  package let fields: [(name: String, value: String)]

  init(_ firstLine: String, _ fields: HTTPFields) {
    self.firstLine = firstLine
    self.fields = fields.fields.map { ($0.name, $0.value) }
  }
}

extension URLSessionTaskTransactionMetrics {
  /// `HTTP/1.1`, `HTTP/2`; nil when nothing was spoken.
  package var httpVersion: String? {
    switch networkProtocolName {
    case "h2": "HTTP/2"
    case "h3": "HTTP/3"
    case let name?: name.uppercased()
    case nil: nil
    }
  }

  /// The request as it was sent; nil when none was.
  package var requestHeadText: MessageHeadText? {
    sentHead.map { MessageHeadText("\($0.method) \($0.target) \(httpVersion ?? "HTTP/1.1")", sentFields) }
  }
}

extension URLSessionTaskTransactionMetrics {
  /// Whether the request was sent to a proxy as its own, for it to send on.
  package var isForwarded: Bool { isProxyConnection && sentHead.map { $0.target.contains("://") } ?? false }
}

extension HTTPURLResponse {
  /// The response as it came: without a reason where the server gave none, as all do in HTTP/2.
  package var headText: MessageHeadText {
    let version =
      head.version >= .http2 ? "HTTP/\(head.version.major)" : "HTTP/\(head.version.major).\(head.version.minor)"
    return MessageHeadText("\(version) \(head.status)" + (head.reason.isEmpty ? "" : " \(head.reason)"), head.fields)
  }
}
