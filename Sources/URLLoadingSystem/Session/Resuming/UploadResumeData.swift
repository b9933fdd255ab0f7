import Foundation
import HTTPSemantics
import TransferProtocol

/// The data that an interrupted upload leaves behind so that a later one can go on. Written and read as
/// `DownloadResumeData` is.
package struct UploadResumeData: Sendable, Codable, Equatable {
  /// The place of the bytes.
  enum Source: Sendable, Codable, Equatable {
    /// The app's file, which must not have changed.
    case file(path: String, FileIdentity)
    /// A file of ours, named without a folder, with the data of the task.
    case data(fileName: String, size: Int64)
    /// The app is asked for a stream.
    case stream(length: Int64?)
  }

  var version: Int
  var originalRequest: RequestDescription
  /// The URL at which the server keeps the upload.
  var resource: String
  var protocolVersion: String
  var source: Source

  enum CodingKeys: String, CodingKey {
    case version = "NSURLSessionResumeInfoVersion"
    case originalRequest = "NSURLSessionResumeOriginalRequest"
    case resource = "NSURLSessionUploadURL"
    case protocolVersion = "NSURLSessionResumeUploadVersion"
    case source = "NSURLSessionResumeUploadSource"
  }

  static let version = 2

  package func encoded() -> Data? {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    return try? encoder.encode(self)
  }

  /// - Throws: A `DownloadResumeData.Problem`.
  package init(decoding data: Data) throws {
    typealias Problem = DownloadResumeData.Problem
    self = try PropertyListReader.decode(data, orThrow: Problem.unreadable)
    guard version == UploadResumeData.version, UploadVersion(protocolVersion) != nil else { throw Problem.otherVersion }
    guard let request = originalRequest.urlRequest, request.url?.isHTTP == true, URL(string: resource)?.isHTTP == true
    else { throw Problem.badRequest }
    switch source {
    case .file(let path, let identity):
      guard path.hasPrefix("/"), identity.size >= 0 else { throw Problem.badFileName }
    case .data(let name, let size):
      guard TemporaryFile.isName(name), size >= 0 else { throw Problem.badFileName }
    case .stream(let length):
      guard length ?? 0 >= 0 else { throw Problem.badOffset }
    }
  }

  init(request: URLRequest, resource: URL, version: UploadVersion, source: Source) {
    var request = request
    request.httpBody = nil
    self.version = UploadResumeData.version
    originalRequest = RequestDescription(request)
    self.resource = resource.absoluteString
    protocolVersion = String(version.number)
    self.source = source
  }

  var body: RequestBody {
    switch source {
    case .file(let path, _): .file(URL(fileURLWithPath: path))
    case .data(let name, _): .file(TemporaryFile.directory.appendingPathComponent(name, isDirectory: false))
    case .stream: .streamFromClient
    }
  }
}
