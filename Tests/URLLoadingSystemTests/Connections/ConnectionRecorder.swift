import Foundation
import Synchronization
import URLLoadingSystem

/// A delegate of connections that writes down what it is told, and has no methods for challenges and bodies.
@available(*, deprecated)
final class ConnectionRecorder: ConnectionLog, NSURLConnectionDataDelegate, @unchecked Sendable {
  // Sendable by hand: the closures are set before the first connection is made.

  var onSend: (NSURLConnection, URLRequest, URLResponse?) -> URLRequest? = { _, request, _ in request }
  var onEvent: (NSURLConnection, String) -> Void = { _, _ in }
  var onCache: (CachedURLResponse) -> CachedURLResponse? = { $0 }

  private func tell(_ connection: NSURLConnection, _ event: String) {
    note(event)
    onEvent(connection, event)
  }

  func connection(
    _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
  ) -> URLRequest? {
    tell(connection, "send \((response as? HTTPURLResponse)?.statusCode ?? 0)")
    return onSend(connection, request, response)
  }

  func connection(_ connection: NSURLConnection, didReceive response: URLResponse) { tell(connection, "response") }

  func connection(_ connection: NSURLConnection, didReceive data: Data) {
    received.withLock { $0.append(data) }
    tell(connection, "data")
  }

  func connection(
    _ connection: NSURLConnection, didSendBodyData bytesWritten: Int, totalBytesWritten: Int,
    totalBytesExpectedToWrite: Int
  ) { tell(connection, "sent \(totalBytesWritten) of \(totalBytesExpectedToWrite)") }

  func connection(
    _ connection: NSURLConnection, willCacheResponse cachedResponse: CachedURLResponse
  ) -> CachedURLResponse? {
    tell(connection, "cache")
    return onCache(cachedResponse)
  }

  func connectionDidFinishLoading(_ connection: NSURLConnection) {
    onEvent(connection, "finished")
    end("finished")
  }

  func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { fail(error) }
}
