import Foundation
import TransferScript
import URLLoadingSystem

/// Logs every call and keeps every file.
final class SessionDelegate: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, Sendable {
  private let script: AppScript
  private let whenEventsAreHandled: (@Sendable () -> Void)?

  init(script: AppScript, whenEventsAreHandled: (@Sendable () -> Void)? = nil) {
    self.script = script
    self.whenEventsAreHandled = whenEventsAreHandled
  }

  func makeSession(_ identifier: String) -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
    configuration.sessionSendsLaunchEvents = script.plan.sendsLaunchEvents
    if let count = script.plan.connectionsPerHost { configuration.httpMaximumConnectionsPerHost = count }
    if let port = script.plan.proxyPort {
      let endpoint = NWEndpoint.hostPort(host: "127.0.0.1", port: .init(rawValue: port) ?? .any)
      configuration.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: endpoint)]
    }
    if script.plan.usesRelay { configuration.proxyConfigurations = [ProxyConfiguration(relayHops: [])] }
    configuration.requiresDNSSECValidation = script.plan.requiresDNSSECValidation
    configuration.isDiscretionary = script.plan.isDiscretionary
    if let time = script.plan.requestTimeout { configuration.timeoutIntervalForRequest = time }
    if let time = script.plan.resourceTimeout { configuration.timeoutIntervalForResource = time }
    return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
  }

  private func log(_ kind: AppEntry.Kind, _ task: URLSessionTask, _ change: (inout AppEntry) -> Void = { _ in }) {
    var entry = AppEntry(kind)
    entry.task = task.taskIdentifier
    entry.label = task.taskDescription
    entry.url = task.originalRequest?.url?.absoluteString
    entry.status = (task.response as? HTTPURLResponse)?.statusCode
    entry.responseURL = task.response?.url?.absoluteString
    change(&entry)
    script.log(entry)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
  ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
    log(.willBeginDelayedRequest, task)
    guard let mark = script.plan.delayedMark else { return (.continueLoading, nil) }
    var new = request
    new.setValue(mark, forHTTPHeaderField: "X-Mark")
    return (.useNewRequest, new)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    log(.didWriteData, downloadTask) {
      $0.bytes = totalBytesWritten
      $0.expected = totalBytesExpectedToWrite
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    log(.didResumeAtOffset, downloadTask) {
      $0.bytes = fileOffset
      $0.expected = expectedTotalBytes
    }
  }

  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    log(.didFinishDownloading, downloadTask)
    script.reached(.beforeMove)
    let target = script.folder.file(downloadTask.taskDescription ?? "\(downloadTask.taskIdentifier)")
    if move(location, to: target) { log(.moved, downloadTask) }
    script.reached(.afterMove)
  }

  /// Moves it, also to another file system; a file that is there is replaced as a whole.
  private func move(_ location: URL, to target: String) -> Bool {
    if rename(location.path, target) == 0 { return true }
    guard errno == EXDEV else { return false }
    let copy = target + ".copy"
    try? FileManager.default.removeItem(atPath: copy)
    guard (try? FileManager.default.copyItem(atPath: location.path, toPath: copy)) != nil, rename(copy, target) == 0
    else { return false }
    unlink(location.path)
    return true
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    log(.didSendBodyData, task) {
      $0.bytes = totalBytesSent
      $0.expected = totalBytesExpectedToSend
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    log(.didReceiveData, dataTask) { $0.text = String(decoding: data, as: UTF8.self) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    log(.didComplete, task) { entry in
      entry.error = (error as? URLError)?.code.rawValue
      entry.bytes = task.countOfBytesReceived
    }
    script.reached(.inDidComplete)
  }

  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    var entry = AppEntry(.didFinishEvents)
    entry.session = session.configuration.identifier
    script.log(entry)
    script.reached(.inDidFinishEvents)
    whenEventsAreHandled?()
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    var entry = AppEntry(.didBecomeInvalid)
    entry.error = (error as? URLError)?.code.rawValue
    script.log(entry)
  }
}
