import Foundation
import HTTPSemantics
import HTTPTransport
import SystemServices
import TransferProtocol

extension DownloadResumeData {
  /// Takes over the file that the transfer service handed out. Blocks, and copies when our temporary folder is on
  /// another file system. nil when that fails, and where nothing proves that the bytes belong to the resource.
  ///
  /// - Parameter leavesRoom: whether it fails rather than copy more than half of what that file system has room for: the app
  ///   has not asked for the file.
  init?(_ point: ResumePoint, of task: URLSessionTask, leavesRoom: Bool = false) {
    let now = Int64(Date().timeIntervalSince1970)
    let date = point.serverDate.flatMap { HTTPDate.parse($0) } ?? now
    // RFC 9110 §8.8.2.2: a date stands for the bytes when it lies before that of the response.
    let isStrong = point.lastModified.flatMap { HTTPDate.parse($0) }.map { $0 < date } ?? false
    let validator = ResumeValidator(
      entityTag: point.entityTag, lastModified: point.lastModified, isLastModifiedStrong: isStrong)
    // The app may have given the task another request than it was made with; the bytes are those of that one.
    guard let request = task.presentRequest, point.offset > 0, validator.condition != nil,
      let name = try? TemporaryFile.adopt(point.path, size: point.offset, leavesRoom: leavesRoom)
    else { return nil }
    self.init(
      originalRequest: RequestDescription(request), currentRequest: RequestDescription(request),
      bytesReceived: point.offset, expectedTotal: point.expectedTotal >= point.offset ? point.expectedTotal : nil,
      validator: validator, fileName: name)
  }

  /// The same for the transfer service, which takes the partial file over.
  var resumePoint: ResumePoint {
    var point = ResumePoint(
      path: TemporaryFile.directory.appendingPathComponent(fileName, isDirectory: false).path, offset: bytesReceived,
      url: originalRequest.url, expectedTotal: expectedTotal ?? -1)
    point.entityTag = validator.entityTag
    point.lastModified = validator.lastModified
    // The service judges by the two dates; any later one than the first says that the first is good.
    if validator.isLastModifiedStrong { point.serverDate = HTTPDate.format(Int64(Date().timeIntervalSince1970)) }
    return point
  }

  /// The reason why the partial file can't be used; nil when it can. Opens the file.
  var fileProblem: URLError? {
    BlockingWork.assertMayBlock()
    do {
      _ = try DownloadFile.reopen(self)
      return nil
    } catch { return ErrorMapping.urlError(error, url: nil) }
  }
}
