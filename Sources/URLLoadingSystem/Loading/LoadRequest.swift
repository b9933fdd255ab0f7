import Foundation

/// The input of the pipeline: the request as the app wrote it and where its body comes from.
package struct LoadRequest: Sendable {
  package var urlRequest: URLRequest
  package var body: RequestBody
  /// The part of the body to send; nil for all of it. Only for a body of the task's own.
  package var bodyRange: BodyRange?

  package init(_ urlRequest: URLRequest, body: RequestBody = .none, bodyRange: BodyRange? = nil) {
    self.urlRequest = urlRequest
    self.body = body
    self.bodyRange = bodyRange
  }
}

extension LoadRequest {
  var hasBody: Bool {
    switch body {
    case .none: urlRequest.httpBody != nil || urlRequest.httpBodyStream != nil
    case .data, .file, .content, .stream, .streamFromClient: true
    }
  }

  /// Whether a body follows that is not known to be empty.
  var hasContent: Bool {
    switch body {
    case .none: urlRequest.httpBody.map { !$0.isEmpty } ?? (urlRequest.httpBodyStream != nil)
    case .data(let data): !data.isEmpty
    case .file, .content, .stream, .streamFromClient: true
    }
  }

  /// A stream can be read once.
  var streamIsSpent: Bool {
    switch body {
    case .stream: true
    case .none: urlRequest.httpBodyStream != nil
    case .data, .file, .content, .streamFromClient: false
    }
  }
}

/// A part of a body, in bytes.
package struct BodyRange: Sendable {
  package var start: Int64
  /// nil for everything from `start` on. A stream is always sent to its end.
  package var count: Int64?

  package init(start: Int64, count: Int64? = nil) {
    self.start = start
    self.count = count
  }
}

/// The source of a request's body. Only the first four can be sent a second time without asking the app.
package enum RequestBody: Sendable {
  case none
  case data(Data)
  case file(URL)
  case content(any BodyContent)
  /// A stream the request carried. It can be read once; a second send asks the client for a new one.
  case stream(SendableInputStream)
  /// The client is asked for a stream each time, the first time included (`uploadTask(withStreamedRequest:)`).
  case streamFromClient
}

/// An unopened input stream on its way from the app to the one loop that reads it.
package struct SendableInputStream: @unchecked Sendable {
  // Sendable by hand, and nothing to assert here: `BodyStream`, its one user, lets one thread read at a time.
  package let stream: InputStream

  package init(_ stream: InputStream) { self.stream = stream }
}
