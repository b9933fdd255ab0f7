import Foundation
import TransferProtocol

extension TransferEngine {
  /// Ends a transfer with `URLError.cancelled`. A running one is stopped first; `reply` is called when that it is over
  /// is on the disk: until then a crash would bring the transfer back.
  func cancel(_ id: TransferID, producingResumePoint: Bool, reply: @escaping (ResumePoint?) -> Void) {
    guard let transfer = transfers[id] else { return reply(nil) }
    var cancellation = transfer.cancellation ?? .init(wantsResumePoint: false)
    cancellation.wantsResumePoint = cancellation.wantsResumePoint || producingResumePoint
    cancellation.replies.append(.init(takesResumePoint: producingResumePoint, send: reply))
    transfers[id]?.cancellation = cancellation
    if let run = transfer.run {
      run.stop()
    } else if !cancellation.isEnding {
      finishCancelled(id)
    }
  }

  func finishCancelled(_ id: TransferID) {
    guard let cancellation = transfers[id]?.cancellation, !cancellation.isEnding else { return }
    transfers[id]?.cancellation?.isEnding = true
    var resumePoint: ResumePoint?
    var response: ResponseSummary?
    var url: String?
    do {
      if let stored = try store.transfer(id) {
        response = stored.response
        url = stored.description.request.url
        if cancellation.wantsResumePoint { resumePoint = try makeResumePoint(stored) }
      }
    } catch { log.error("transfer \(id) is cancelled without a resume point: \(error)") }
    let failure = TransferFailure(
      domain: NSURLErrorDomain, code: URLError.Code.cancelled.rawValue, message: "The transfer was cancelled.", url: url
    )
    transfers[id]?.cancellation?.resumePoint = resumePoint
    finish(id, hasFile: false, completion: completion(failure, response, of: id))
  }

  /// Tells those who cancelled that it is over. The first of them who asked for it gets the resume point: there is one
  /// file.
  func reply(to cancellation: LiveTransfer.Cancellation?) {
    guard let cancellation else { return }
    var point = cancellation.resumePoint
    for reply in cancellation.replies {
      reply.send(reply.takesResumePoint ? point : nil)
      if reply.takesResumePoint { point = nil }
    }
  }

  /// Only bytes that a later request can prove to belong to the same resource are worth keeping.
  private func makeResumePoint(_ stored: StoredTransfer) throws -> ResumePoint? {
    guard stored.head.committedOffset > 0, let validator = stored.validator, validator.condition != nil,
      let size = try files.disk.size(of: files.partial(stored.head.id)), size >= stored.head.committedOffset
    else { return nil }
    var point = ResumePoint(
      path: try files.makeResumeFile(stored.head.id), offset: stored.head.committedOffset,
      url: stored.description.request.url, expectedTotal: stored.head.expectedTotal)
    point.entityTag = validator.entityTag
    point.lastModified = validator.lastModified
    point.serverDate = stored.response?.headers.first { $0.name.lowercased() == "date" }?.value
    return point
  }
}
