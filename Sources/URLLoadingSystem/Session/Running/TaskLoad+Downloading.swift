import Foundation
import HTTPSemantics
import HTTPTransport
import TransferProtocol

/// Downloads of a session's tasks: `ResumableDownload` with a temporary file as its destination.
extension TaskLoad: DownloadClient {
  /// Goes on with an interrupted download.
  func resume(_ data: DownloadResumeData, _ request: URLRequest, in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    let file = try await context.loop.blocking { try DownloadFile.reopen(data) }
    let sink = makeFileSink(file, at: data.bytesReceived, in: context)
    let download = ResumableDownload(
      request, into: sink, of: DownloadRepresentation(validator: data.validator, total: data.expectedTotal),
      expecting: start.expectedContent?.description, for: self, policy: .ofSession, in: context)
    self.download = download
    let holder = try await download.run()
    // An answer that is no part has become the file. The resume data that the app holds is still good.
    if holder !== sink { file.unlock() }
    return .file(holder.file.url)
  }

  /// Receives the body of a first answer into a new file.
  func receive(_ loaded: LoadedResponse, into sink: FileSink, in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    guard let request = task.originalRequest else {
      throw ErrorMapping.urlError(
        ErrorMapping.make(.unsupportedURL, because: "The task has no request."), url: loaded.response.url)
    }
    let download = ResumableDownload(
      request.completed(by: context.configuration.additionalHeaders), into: sink,
      of: DownloadRepresentation(validator: nil, total: nil), expecting: start.expectedContent?.description, for: self,
      policy: .ofSession, in: context)
    self.download = download
    return .file(try await download.run(with: loaded).file.url)
  }

  /// A sink with a new file, for the task as it is now.
  func makeFileSink(in context: LoadContext) async throws -> FileSink {
    context.loop.assertInEventLoop()
    let file = try await context.loop.blocking { try DownloadFile.create() }
    return makeFileSink(file, at: 0, in: context)
  }

  private func makeFileSink(_ file: DownloadFile, at offset: Int64, in context: LoadContext) -> FileSink {
    // Calls with a completion handler and `async` calls report nothing on the way.
    guard let delivery, let download = task as? URLSessionDownloadTask, isReportedToDelegates else {
      return FileSink(file, at: offset, in: context)
    }
    return FileSink(file, at: offset, in: context) { bytes, total in
      delivery.didWrite(
        download, bytes: bytes, total: total, expected: download.bytesExpectedToReceive.load(ordering: .relaxed))
    }
  }

  private var isReportedToDelegates: Bool { start.recipient.isDelegates }

  // MARK: DownloadClient

  func downloadAdvanced(_ event: DownloadEvent) {
    switch event {
    case .began(let loaded, let expected, let isRestart):
      setResponse(loaded.response, received: 0, expected: expected)
      if isRestart { tellResumption(at: 0, expected: expected) }
    case .resumed(let loaded, let offset, let expected):
      setResponse(loaded.response, received: offset, expected: expected)
      tellResumption(at: offset, expected: expected)
    case .continued(let expected):
      task.bytesExpectedToReceive.store(expected ?? -1, ordering: .relaxed)
      task.countersChanged()
    case .wasComplete(let loaded, let count):
      setResponse(TaskLoad.wholeResponse(after: loaded, count: count), received: count, expected: count)
      tellResumption(at: count, expected: count)
    case .answered(let loaded):
      let length = loaded.response.expectedContentLength
      setResponse(loaded.response, received: 0, expected: length >= 0 ? length : nil)
    case .startsOver: break
    }
  }

  func downloadReceived(_ bytes: Int, total: Int64) { countReceived(bytes) }

  func makeDestination(in context: LoadContext) async throws -> FileSink { try await makeFileSink(in: context) }

  private func setResponse(_ response: URLResponse, received: Int64, expected: Int64?) {
    task.noteResponse(response)
    task.bytesReceived.store(received, ordering: .relaxed)
    task.bytesExpectedToReceive.store(expected ?? -1, ordering: .relaxed)
    task.countersChanged()
  }

  /// RFC 9110 §15.5.17: there is nothing behind the bytes that are here. The task's response is made of what the 416
  /// says about the resource.
  private static func wholeResponse(after loaded: LoadedResponse, count: Int64) -> URLResponse {
    guard let head = loaded.head else { return loaded.response }
    var whole = HTTPResponseHead(version: head.version, status: 200, fields: head.fields)
    for name in ["Content-Range", "Content-Type", "Transfer-Encoding"] { whole.fields.remove(name) }
    whole.fields["Content-Length"] = String(count)
    return HTTPURLResponse(url: loaded.response.url, head: whole)
  }

  /// Says where the bytes begin. Only downloads made from resume data, and reporting to delegates, say it.
  private func tellResumption(at offset: Int64, expected: Int64?) {
    guard let download = task as? URLSessionDownloadTask, isReportedToDelegates else { return }
    let session = self.session
    delivery?.post(.didResume) {
      $0.download?.urlSession(
        session, downloadTask: download, didResumeAtOffset: offset, expectedTotalBytes: expected ?? -1)
    }
  }

  // MARK: For a later task

  /// `error` with what a later task can go on with. Without that, nothing of the download stays.
  func withDownloadResumeData(_ error: any Error, _ download: ResumableDownload<TaskLoad>) async -> any Error {
    guard task.wantsResumeData, let kept = await download.salvage(),
      let data = resumeData(download.destination.file, count: kept.count, of: kept.representation)
    else {
      await download.destination.abandon()
      return error
    }
    // From now on the next task may write it.
    download.destination.file.unlock()
    return ErrorMapping.urlError(error, url: task.presentRequest?.url)
      .adding(data, forKey: NSURLSessionDownloadTaskResumeData)
  }

  private func resumeData(_ file: DownloadFile, count: Int64, of representation: DownloadRepresentation) -> Data? {
    guard let validator = representation.validator, let original = task.originalRequest,
      let current = task.presentRequest
    else { return nil }
    return DownloadResumeData(
      originalRequest: RequestDescription(original), currentRequest: RequestDescription(current), bytesReceived: count,
      expectedTotal: representation.total, validator: validator, fileName: file.url.lastPathComponent
    ).encoded()
  }
}
