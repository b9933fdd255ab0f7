import Foundation
import HTTPSemantics
import TransferProtocol

/// The data that an interrupted download leaves behind so that a later one can go on: a property list with the keys
/// that Apple's has. It names the partial file without a folder; the folder is ours.
///
/// The requests are nested property lists rather than keyed archives: the toolchain's unarchiver stops the process when
/// it is given nonsense, and resume data comes from wherever the app kept it.
package struct DownloadResumeData: Sendable, Equatable {
  var originalRequest: RequestDescription
  var currentRequest: RequestDescription
  var bytesReceived: Int64
  /// Length of the whole; nil when it was not known.
  var expectedTotal: Int64?
  var validator: ResumeValidator
  /// Name of the partial file in `TemporaryFile.directory`.
  var fileName: String

  /// Why resume data can't be used.
  enum Problem: Error, CaseIterable {
    case unreadable, otherVersion, badRequest, badOffset, badFileName, noValidator

    var sentence: String {
      switch self {
      case .unreadable: "The resume data is not a property list with what resume data holds."
      case .otherVersion: "The resume data is of a version that is not known here."
      case .badRequest: "The resume data holds no GET request of an http, https, ftp or ftps URL."
      case .badOffset: "The resume data contradicts itself about the bytes received."
      case .badFileName: "The resume data does not name a partial file as this library names them."
      case .noValidator: "The resume data has nothing that identifies the resource: no strong entity tag, no date."
      }
    }

    /// The code that a task without a URL has: there is none to go on with.
    var urlError: URLError { ErrorMapping.make(.unsupportedURL, because: sentence) }
  }
}

extension DownloadResumeData {
  static let version = 2

  private struct PropertyList: Codable {
    var url: String
    var bytesReceived: Int64
    var range: String?
    var entityTag: String?
    var serverDate: String?
    var isDateStrong: Bool?
    var originalRequest: Data
    var currentRequest: Data
    var fileName: String
    var version: Int
    var expectedTotal: Int64?

    enum CodingKeys: String, CodingKey {
      case url = "NSURLSessionDownloadURL"
      case bytesReceived = "NSURLSessionResumeBytesReceived"
      case range = "NSURLSessionResumeByteRange"
      case entityTag = "NSURLSessionResumeEntityTag"
      case serverDate = "NSURLSessionResumeServerDownloadDate"
      case originalRequest = "NSURLSessionResumeOriginalRequest"
      case currentRequest = "NSURLSessionResumeCurrentRequest"
      case fileName = "NSURLSessionResumeInfoTempFileName"
      case version = "NSURLSessionResumeInfoVersion"
      // Ours.
      case isDateStrong = "URLLoadingSystemResumeDateIsStrong"
      case expectedTotal = "URLLoadingSystemResumeExpectedTotal"
    }
  }

  /// nil when a request can't be written down.
  package func encoded() -> Data? {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    guard let original = try? encoder.encode(originalRequest), let current = try? encoder.encode(currentRequest) else {
      return nil
    }
    return try? encoder.encode(
      PropertyList(
        url: currentRequest.url, bytesReceived: bytesReceived, range: "\(bytesReceived)-",
        entityTag: validator.entityTag, serverDate: validator.lastModified,
        isDateStrong: validator.isLastModifiedStrong, originalRequest: original, currentRequest: current,
        fileName: fileName, version: DownloadResumeData.version, expectedTotal: expectedTotal))
  }

  /// - Throws: A `Problem`. Nothing in `data` is believed: whether the file is there is not looked at here.
  package init(decoding data: Data) throws {
    let list: PropertyList = try PropertyListReader.decode(data, orThrow: Problem.unreadable)
    guard list.version == DownloadResumeData.version else { throw Problem.otherVersion }
    let original: RequestDescription = try PropertyListReader.decode(list.originalRequest, orThrow: Problem.unreadable)
    let current: RequestDescription = try PropertyListReader.decode(list.currentRequest, orThrow: Problem.unreadable)
    guard let request = original.urlRequest, request.isResumableDownload, current.urlRequest != nil else {
      throw Problem.badRequest
    }
    guard list.bytesReceived > 0, list.bytesReceived < .max,
      list.expectedTotal.map({ $0 >= list.bytesReceived }) ?? true,
      list.range.map({ $0 == "\(list.bytesReceived)-" }) ?? true
    else { throw Problem.badOffset }
    guard TemporaryFile.isName(list.fileName) else { throw Problem.badFileName }
    validator = ResumeValidator(
      entityTag: list.entityTag, lastModified: list.serverDate, isLastModifiedStrong: list.isDateStrong ?? false)
    // Both go into header fields.
    guard validator.condition != nil, list.entityTag.map({ FieldValidation.isFieldValue($0) }) ?? true else {
      throw Problem.noValidator
    }
    originalRequest = original
    currentRequest = current
    bytesReceived = list.bytesReceived
    expectedTotal = list.expectedTotal
    fileName = list.fileName
  }
}
