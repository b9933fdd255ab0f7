import Foundation
import HTTPTransport
import NIOCore
import NIOPosix

/// The body of a resumable upload: where its bytes come from, and whether they can be read again.
package struct UploadSource: Sendable {
  package let body: RequestBody
  /// nil when it is not known.
  package let length: Int64?
  /// The file as it was when the upload began; nil for other bodies, and for a file that only we write.
  package let identity: FileIdentity?
  /// The threads on which the file is looked at. A file system that hangs keeps them.
  private let pool: NIOThreadPool

  /// - Parameter identity: only for a body that is a file of the app's.
  package init(
    _ body: RequestBody, length: Int64?, identity: FileIdentity? = nil, lookedAtOn pool: NIOThreadPool = .singleton
  ) {
    self.pool = pool
    self.body = body
    self.length = length
    self.identity = identity
  }

  /// A body that is sent for the first time.
  /// - Parameter length: as the request announces it.
  package static func open(_ body: RequestBody, length: Int64?, on loop: any EventLoop) async throws -> UploadSource {
    guard case .file(let url) = body else { return UploadSource(body, length: length) }
    return UploadSource(body, length: length, identity: try await loop.blocking { FileIdentity(url) })
  }

  /// Whether any part of it can be read at any time. Of a stream the client is asked for the rest, to its end.
  package var canBeReadAgain: Bool {
    switch body {
    case .none, .data, .file, .content: true
    case .stream, .streamFromClient: false
    }
  }

  /// The source of a request that sends a part of the body: a stream was read by the first request, so the client is
  /// asked for another one.
  var bodyOfRest: RequestBody { if case .stream = body { .streamFromClient } else { body } }

  /// Throws when the bytes are not what they were when the upload began.
  package func check(on loop: any EventLoop) async throws {
    guard let identity, case .file(let url) = body else { return }
    guard try await loop.blocking(on: pool, { FileIdentity(url) }) == identity else {
      throw ErrorMapping.make(
        .cannotOpenFile,
        because: "The upload can't be resumed: \(url.path) does not exist any more or has changed since it began.")
    }
  }
}
