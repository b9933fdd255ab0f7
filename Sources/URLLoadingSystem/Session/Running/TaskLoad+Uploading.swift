import Foundation
import HTTPSemantics
import HTTPTransport

/// Uploads of a session's tasks: `ResumableUpload` with the body of the task as its source.
extension TaskLoad: UploadClient {
  /// - Parameter data: what an earlier task left; nil for a new upload.
  func upload(_ request: URLRequest, resuming data: UploadResumeData?, in context: LoadContext) async throws -> Received
  {
    context.loop.assertInEventLoop()
    let source: UploadSource
    let place: UploadPlace
    if let data {
      source = try await reopen(data, in: context)
      place = UploadPlace(
        version: UploadVersion(data.protocolVersion) ?? .preferred, resource: URL(string: data.resource))
    } else if let version = ResumableUpload<TaskLoad>.versionToOffer(in: request),
      // A protocol of the app's is shown the request as the app made it.
      !(try await CustomProtocols.choose(for: LoadRequest(request, body: task.requestBody), in: context))
    {
      let expected = task.bytesExpectedToSend.load(ordering: .relaxed)
      source = try await .open(task.requestBody, length: expected >= 0 ? expected : nil, on: context.loop)
      place = UploadPlace(version: version)
    } else {
      let loaded = try await LoadPipeline.load(LoadRequest(request, body: task.requestBody), in: context)
      return try await receive(loaded, in: context)
    }
    let upload = ResumableUpload(request, from: source, to: place, for: self, in: context)
    self.upload = upload
    return try await receive(try await upload.run(), in: context)
  }

  private func reopen(_ data: UploadResumeData, in context: LoadContext) async throws -> UploadSource {
    switch data.source {
    case .file(_, let identity): return UploadSource(task.requestBody, length: identity.size, identity: identity)
    case .data(let name, let size):
      try await context.loop.blocking { try TemporaryFile.check(name, size: size) }
      return UploadSource(task.requestBody, length: size)
    case .stream(let length): return UploadSource(task.requestBody, length: length)
    }
  }

  /// The resume data is made when the task fails.
  func uploadAdvanced(_ place: UploadPlace) {}

  // MARK: For a later task

  func withUploadResumeData(
    _ error: any Error, _ upload: ResumableUpload<TaskLoad>, in context: LoadContext
  ) async -> any Error {
    context.loop.assertInEventLoop()
    guard task.wantsResumeData, let data = await resumeData(of: upload, in: context)
    else {
      await removeKeptBody(in: context)
      return error
    }
    return ErrorMapping.urlError(error, url: task.presentRequest?.url)
      .adding(data, forKey: NSURLSessionUploadTaskResumeData)
  }

  /// nil when no later task can resume the upload.
  private func resumeData(of upload: ResumableUpload<TaskLoad>, in context: LoadContext) async -> Data? {
    guard let resource = upload.place.resource, let request = task.originalRequest else { return nil }
    var source = resumedUpload?.source
    if source == nil { source = await resumeSource(of: upload, in: context) }
    guard let source else { return nil }
    return UploadResumeData(request: request, resource: resource, version: upload.place.version, source: source)
      .encoded()
  }

  private func resumeSource(
    of upload: ResumableUpload<TaskLoad>, in context: LoadContext
  ) async -> UploadResumeData.Source? {
    switch upload.source.body {
    case .file(let url): return upload.source.identity.map { .file(path: url.path, $0) }
    case .data(let data):
      guard let name = try? await context.loop.blocking({ try TemporaryFile.keep(data) }) else { return nil }
      return .data(fileName: name, size: Int64(data.count))
    case .streamFromClient: return .stream(length: upload.source.length)
    // Only the transfer service has such content.
    case .none, .stream, .content: return nil
    }
  }

  /// Removes the file of ours with the body of a resumed upload, which no later task needs.
  func removeKeptBody(in context: LoadContext) async {
    context.loop.assertInEventLoop()
    guard case .data(let name, _) = resumedUpload?.source else { return }
    try? await context.loop.blocking {
      TemporaryFile.remove(TemporaryFile.directory.appendingPathComponent(name, isDirectory: false))
    }
  }

  private var resumedUpload: UploadResumeData? {
    guard case .upload(let data) = start.resumption else { return nil }
    return data
  }
}
