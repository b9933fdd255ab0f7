import Foundation
import TransferProtocol

extension TransferEngine {
  /// Ends a transfer with `URLError.cancelled`. A running one is stopped first; `reply` is called when it is over.
  func cancel(_ id: TransferID, producingResumePoint: Bool, reply: @escaping (ResumePoint?) -> Void) {
    guard let transfer = transfers[id] else { return reply(nil) }
    var cancellation = transfer.cancellation ?? .init(wantsResumePoint: false, replies: [])
    cancellation.wantsResumePoint = cancellation.wantsResumePoint || producingResumePoint
    cancellation.replies.append(reply)
    transfers[id]?.cancellation = cancellation
    if let run = transfer.run { run.stop() } else { finishCancelled(id) }
  }

  func finishCancelled(_ id: TransferID) {
    guard let cancellation = transfers[id]?.cancellation else { return }
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
    // The first one who asked for it gets the resume point: there is one file.
    var replies = cancellation.replies
    if let resumePoint {
      let first = replies.removeFirst()
      transfers[id]?.cancellation?.replies = replies
      finish(id, hasFile: false, completion: completion(failure, response, of: id))
      first(resumePoint)
    } else {
      finish(id, hasFile: false, completion: completion(failure, response, of: id))
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
