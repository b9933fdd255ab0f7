import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows an upload from a stream to a server that asks for a password after the first attempt: the body is needed a
/// second time, so the delegate gives a second stream. (URL Session Programming Guide, "Uploading Body Content Using a
/// Stream".)
///
///     EXAMPLES=1 swift run stream-upload http://localhost:8080
@main
struct StreamUpload {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: stream-upload SERVER")
      exit(64)
    }
    var request = URLRequest(url: server.appendingPathComponent("protected/upload"))
    request.httpMethod = "POST"
    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")

    let delegate = StreamDelegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    session.uploadTask(withStreamedRequest: request).resume()
    session.finishTasksAndInvalidate()
    for await isAccepted in delegate.end { exit(isAccepted && delegate.streams == 2 ? 0 : 1) }
  }
}

/// Gives each attempt of the upload a stream of its own, and the server its password.
final class StreamDelegate: NSObject, URLSessionDataDelegate {
  let (end, continuation) = AsyncStream.makeStream(of: Bool.self)
  private let count = Mutex(0)

  var streams: Int { count.withLock { $0 } }

  /// The stream is opened and closed by the session.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    let number = count.withLock { count in
      count += 1
      return count
    }
    print("stream \(number) is needed")
    completionHandler(InputStream(data: Data(String(repeating: "one line of the content\n", count: 1000).utf8)))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic,
      challenge.previousFailureCount == 0
    else { return completionHandler(.cancelAuthenticationChallenge, nil) }
    print("the server asks for a password for \"\(challenge.protectionSpace.realm ?? "")\"")
    completionHandler(.useCredential, URLCredential(user: "reader", password: "secret", persistence: .forSession))
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    print(String(decoding: data, as: UTF8.self), terminator: "")
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
    print(error.map { "failed: \($0.localizedDescription)" } ?? "complete, status \(status)")
    continuation.yield(error == nil && status == 200)
  }
}
