import Foundation
import HTTPSemantics
import TransferProtocol

/// Where the bytes of a download come from, as far as a later download has to know.
struct DownloadOrigin {
  let validator: ResumeValidator
  /// Length of the whole; nil when it is not known.
  var total: Int64?

  init(validator: ResumeValidator, total: Int64?) {
    self.validator = validator
    self.total = total
  }

  /// nil when what follows this response can't be continued later.
  init?(_ loaded: LoadedResponse, to request: URLRequest?) {
    guard let request, DownloadResumeData.isResumable(request), let head = loaded.head, head.status == 200,
      let validator = ResumeValidator(fields: head.fields, receivedAt: Int64(Date().timeIntervalSince1970))
    else { return nil }
    self.validator = validator
    let length = loaded.response.expectedContentLength
    total = length >= 0 ? length : nil
  }
}

/// What an interrupted download has: a file, how many bytes of it count, and where they are from.
struct PartialDownload {
  let file: DownloadFile
  let count: Int64
  var origin: DownloadOrigin
  /// Where the part that is being received ends.
  var end: Int64 = -1
  /// What asks for further parts, without a range; nil when there is nothing to ask.
  var request: URLRequest?

  /// The data to go on with; nil when there is nothing to go on with.
  func resumeData(of task: URLSessionTask) -> Data? {
    guard count > 0, let original = task.originalRequest, let current = task.presentRequest,
      DownloadResumeData.isResumable(original)
    else { return nil }
    return DownloadResumeData(
      originalRequest: RequestDescription(original), currentRequest: RequestDescription(current), bytesReceived: count,
      expectedTotal: origin.total, validator: origin.validator, fileName: file.url.lastPathComponent
    ).encoded()
  }
}
