import Foundation
import TransferProtocol

/// Gives tasks that the service has other requests, one after the other for each task.
extension BackgroundEngine {
  func replaceRequest(of work: BackgroundWork, _ replacement: RequestReplacement) {
    assertConfined()
    guard !work.state.isOver else { return replacement.answer.give(.failure(RequestReplacementError.taskIsOver)) }
    work.state.replacements.append(replacement)
    if work.state.edit == nil { beginReplacement(of: work) }
  }

  /// Tells the service of the first replacement that changes something.
  private func beginReplacement(of work: BackgroundWork) {
    assertConfined()
    while let next = work.state.replacements.first, let former = work.task.presentRequest {
      do {
        let edit = try EditTransfer(from: former, to: next.request, isUpload: work.task is URLSessionUploadTask)
        guard !edit.changesRequest else {
          work.state.edit = edit
          return changed(work)
        }
        work.endReplacement(.success(()))
      } catch { work.endReplacement(.failure(error)) }
    }
  }

  /// The service has answered, or the connection has ended first.
  func editEnded(_ edit: EditTransfer, task: Int, _ outcome: Outbox.Outcome) {
    assertConfined()
    let work = works[task]
    if let work, work.state.edit == edit {
      switch outcome {
      case .accepted:
        if let request = work.state.replacements.first?.request { work.task.noteRequest(request) }
        work.endReplacement(.success(()))
      case .refused(let sentence): work.endReplacement(.failure(RequestReplacementError(.refused, sentence)))
      // The outbox tells it again.
      case .refusedForNow, .unanswered: break
      }
    }
    perform(outbox.requestEnded(.edit(edit), task: task, outcome))
    if let work, work.state.edit == nil { beginReplacement(of: work) }
  }
}

extension BackgroundWork {
  /// The first replacement has been made, or was not.
  fileprivate func endReplacement(_ result: Result<Void, any Error>) {
    state.edit = nil
    guard !state.replacements.isEmpty else { return }
    state.replacements.removeFirst().answer.give(result)
  }

  /// The task is over for the app, or its session is.
  func endReplacements() {
    state.isOver = true
    while !state.replacements.isEmpty { endReplacement(.failure(RequestReplacementError.taskIsOver)) }
  }
}
