import Foundation
import TransferProtocol

/// The beginning of a download: with the first byte, or with those that an earlier one left.
enum DownloadStart: Sendable {
  case whole
  case rest(DownloadResumeData, path: String)
  /// The resume data was of no use: the download fails with this.
  case broken(URLError)

  /// Resume data names the partial file of a download task. The one of this API is the app's own, and named beside it.
  private static let fileName = "CFNetworkDownload_NSURLDownload.tmp"

  init(_ resumeData: Data, path: String) {
    do { self = .rest(try DownloadResumeData(decoding: resumeData), path: path) } catch {
      let problem = error as? DownloadResumeData.Problem ?? .unreadable
      self = .broken(problem.urlError)
    }
  }

  /// The request of the earlier download; nil for none.
  var request: URLRequest? {
    if case .rest(let data, _) = self { data.originalRequest.urlRequest } else { nil }
  }

  /// The data that a later download needs to go on; nil where none can.
  static func resumeData(
    after count: Int64, of representation: DownloadRepresentation, original: URLRequest, current: URLRequest
  ) -> Data? {
    guard let validator = representation.validator else { return nil }
    return DownloadResumeData(
      originalRequest: RequestDescription(original), currentRequest: RequestDescription(current), bytesReceived: count,
      expectedTotal: representation.total, validator: validator, fileName: fileName
    ).encoded()
  }
}
