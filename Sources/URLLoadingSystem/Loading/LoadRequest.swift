import Foundation

/// What travels down the pipeline: the request as the app wrote it and where its body comes from.
package struct LoadRequest: Sendable {
  package var urlRequest: URLRequest
  package var body: RequestBody

  package init(_ urlRequest: URLRequest, body: RequestBody = .none) {
    self.urlRequest = urlRequest
    self.body = body
  }
}

/// The source of a request's body. Only the first three can be sent a second time without asking the app.
package enum RequestBody: Sendable {
  case none
  case data(Data)
  case file(URL)
  /// A stream the request carried. It can be read once; a second send asks the client for a new one.
  case stream(SendableInputStream)
  /// The client is asked for a stream each time, the first time included (`uploadTask(withStreamedRequest:)`).
  case streamFromClient
}

/// An unopened input stream on its way from the app to the one loop that reads it.
package struct SendableInputStream: @unchecked Sendable {
  package let stream: InputStream

  package init(_ stream: InputStream) { self.stream = stream }
}
