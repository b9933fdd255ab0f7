import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// The forms in which apps load, each with the body and the status of its response.
enum MockedCall: CaseIterable, Sendable {
  case data, dataHandler, dataDelegate, upload, uploadHandler, uploadFile, uploadStream, download, downloadHandler,
    bytes

  static let sent = Data("the body of an upload".utf8)

  var isUpload: Bool { [.upload, .uploadHandler, .uploadFile, .uploadStream].contains(self) }

  var method: String { isUpload ? "POST" : "GET" }

  func load(_ url: URL, in session: URLSession) async throws -> (body: Data, status: Int) {
    var request = URLRequest(url: url)
    request.httpMethod = method
    let result: (Data, URLResponse)
    switch self {
    case .data: result = try await session.data(for: request)
    case .dataHandler: result = try await withHandler { session.dataTask(with: request, completionHandler: $0) }
    case .dataDelegate:
      let delegate = RecordingDelegate()
      let task = session.dataTask(with: request)
      task.delegate = delegate
      task.resume()
      try await delegate.done.wait(within: patience)
      if let error = task.error { throw error }
      guard let response = task.response else { throw URLError(.badServerResponse) }
      result = (delegate.received.withLock { $0 }, response)
    case .upload: result = try await session.upload(for: request, from: MockedCall.sent)
    case .uploadHandler:
      result = try await withHandler { session.uploadTask(with: request, from: MockedCall.sent, completionHandler: $0) }
    case .uploadFile:
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("mocked-\(UUID().uuidString)")
      try MockedCall.sent.write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      result = try await session.upload(for: request, fromFile: file)
    case .uploadStream:
      request.httpBodyStream = InputStream(data: MockedCall.sent)
      result = try await session.data(for: request)
    case .download:
      let (file, response) = try await session.download(for: request)
      defer { try? FileManager.default.removeItem(at: file) }
      result = (try Data(contentsOf: file), response)
    case .downloadHandler:
      result = try await withHandler { handler in
        session.downloadTask(with: request) { file, response, error in
          handler(file.flatMap { try? Data(contentsOf: $0) }, response, error)
        }
      }
    case .bytes:
      let (bytes, response) = try await session.bytes(for: request)
      result = (try await bytes.reduce(into: Data()) { $0.append($1) }, response)
    }
    return (result.0, (result.1 as? HTTPURLResponse)?.statusCode ?? 0)
  }

  private typealias Handler = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

  private func withHandler(_ make: (@escaping Handler) -> URLSessionTask) async throws -> (Data, URLResponse) {
    try await withCheckedThrowingContinuation { continuation in
      make { data, response, error in
        if let data, let response {
          continuation.resume(returning: (data, response))
        } else {
          continuation.resume(throwing: error ?? URLError(.unknown))
        }
      }.resume()
    }
  }
}
