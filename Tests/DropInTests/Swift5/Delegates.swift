import Foundation
import FoundationNetworking

// Delegates with completion handlers: pinning, redirects, streaming, uploads with progress.

class PinningDelegate: NSObject, URLSessionDelegate, URLSessionTaskDelegate {
  let pinnedHost: String
  private(set) var refusals = 0

  init(pinnedHost: String) {
    self.pinnedHost = pinnedHost
  }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
      let trust = challenge.protectionSpace.serverTrust
    else {
      completionHandler(.performDefaultHandling, nil)
      return
    }
    if challenge.protectionSpace.host == pinnedHost {
      completionHandler(.useCredential, URLCredential(trust: trust))
    } else {
      refusals += 1
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    switch challenge.protectionSpace.authenticationMethod {
    case NSURLAuthenticationMethodHTTPBasic where challenge.previousFailureCount == 0:
      completionHandler(.useCredential, URLCredential(user: "user", password: "password", persistence: .forSession))
    default:
      completionHandler(.performDefaultHandling, nil)
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(request.url?.host == pinnedHost ? request : nil)
  }
}

final class StreamingLoader: NSObject, URLSessionDataDelegate {
  private(set) var buffer = Data()
  private(set) var expectedLength: Int64 = 0
  var onProgress: (Double) -> Void = { _ in }
  var completion: ((Result<Data, Error>) -> Void)?

  func load(_ url: URL, completion: @escaping (Result<Data, Error>) -> Void) -> URLSession {
    self.completion = completion
    let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: .main)
    session.dataTask(with: url).resume()
    session.finishTasksAndInvalidate()
    return session
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    expectedLength = response.expectedContentLength
    if let response = response as? HTTPURLResponse, response.statusCode >= 400 {
      completionHandler(.cancel)
    } else {
      completionHandler(.allow)
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    buffer.append(data)
    if expectedLength > 0 { onProgress(Double(buffer.count) / Double(expectedLength)) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
    if let error = error { completion?(.failure(error)) } else { completion?(.success(buffer)) }
  }
}

class Uploader: NSObject {
  var progressHandlers: [Int: (Double) -> Void] = [:]
  private(set) var metrics: [URLSessionTaskMetrics] = []
  private lazy var session = URLSession(configuration: .default, delegate: self, delegateQueue: OperationQueue.main)

  func upload(
    _ file: URL, to url: URL, progress: @escaping (Double) -> Void, completion: @escaping (Int?, Error?) -> Void
  ) {
    var request = URLRequest(url: url)
    request.httpMethod = "PUT"
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    let task = session.uploadTask(with: request, fromFile: file) { _, response, error in
      completion((response as? HTTPURLResponse)?.statusCode, error)
    }
    progressHandlers[task.taskIdentifier] = progress
    task.resume()
  }

  func uploadStream(_ stream: InputStream, to url: URL, completion: @escaping (Data?) -> Void) {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBodyStream = stream
    session.dataTask(with: request) { data, _, _ in completion(data) }.resume()
  }

  func finish() { session.finishTasksAndInvalidate() }
}

extension Uploader: URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    progressHandlers[task.taskIdentifier]?(Double(totalBytesSent) / Double(totalBytesExpectedToSend))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    self.metrics.append(metrics)
  }
}
