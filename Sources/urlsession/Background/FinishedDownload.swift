import Foundation
import URLLoadingSystem

/// One background download at its end: where its file goes, and the record of it.
struct FinishedDownload: Sendable {
  let note: DownloadNote
  private let session: String
  private let task: URLSessionTask
  private let store: RecordStore

  init(session: URLSession, task: URLSessionTask) {
    self.session = session.configuration.identifier ?? ""
    self.task = task
    // The file of a task without a note is kept, too: it goes to one of the rescue folders.
    note =
      DownloadNote(taskDescription: task.taskDescription)
      ?? DownloadNote(
        destination: Destination(path: "", isFolder: true),
        state: (try? DownloadNote.usualState()) ?? NSTemporaryDirectory() + "urlsession-\(getuid())")
    store = RecordStore(state: note.state)
  }

  /// The record of it as it stands.
  var record: DownloadRecord? { store.read(session) }

  /// Whether the keychain has the download's password.
  var hasLogin: Bool { store.read(session)?.hasLogin == true }

  /// Leaves the destination alone where the file is not what was asked for. Throws when the file could be put nowhere at all.
  func place(_ source: String) throws {
    let before = store.read(session)
    if let outcome = before?.outcome, outcome == .saved || outcome == .savedElsewhere { return }
    guard RefusedAnswer(to: task, file: source) == nil else { return record { $0.outcome = .httpError } }
    do {
      // Begun before a crash: the name that was chosen then is chosen still.
      guard before?.outcome == .placing, let path = before?.path else {
        return try place(source, at: note.destination, as: .saved)
      }
      var destination = note.destination
      if destination.isFolder || destination.path != path {
        // A free name in the caller's folder or in a rescue folder. Another program may have taken it since.
        destination = Destination(
          path: (path as NSString).deletingLastPathComponent, isFolder: true, mode: destination.mode)
      }
      try place(source, at: destination, as: .saved, begun: path)
    } catch let failure as CommandFailure {
      try rescue(source, after: failure)
    }
  }

  private func place(
    _ source: String, at destination: Destination, as outcome: DownloadRecord.Outcome, begun: String? = nil
  ) throws {
    guard destination.path.hasPrefix("/") else {
      throw CommandFailure.cannotWrite("the destination", "it is not known")
    }
    // A rescued file keeps the name that it was to have.
    let asked = note.destination.isFolder ? nil : (note.destination.path as NSString).lastPathComponent
    let path = try FilePlacement.place(
      source, at: destination, suggestedName: asked ?? task.response?.suggestedFilename, begun: begun,
      willPlace: { path in
        record {
          $0.outcome = .placing
          $0.path = path
        }
      })
    record {
      $0.outcome = outcome
      $0.path = path
    }
  }

  /// The bytes have come this far; they must not be lost because a folder has gone or is full.
  private func rescue(_ source: String, after failure: CommandFailure) throws {
    for folder in RescueFolders.candidates(state: note.state) {
      try? FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let destination = Destination(path: folder, isFolder: true, mode: note.destination.mode)
      guard (try? place(source, at: destination, as: .savedElsewhere)) != nil else { continue }
      return record { $0.message = failure.what }
    }
    record {
      $0.outcome = .queued
      $0.path = nil
      $0.message = failure.what
    }
    throw failure
  }

  func complete(_ error: (any Error)?) {
    let status = (task.response as? HTTPURLResponse)?.statusCode
    let kept = KeptBytes(state: note.state).keep(error, for: record)
    // A download that the service did not take has no record any more.
    record(creates: error == nil) { record in
      record.finished = Date()
      record.bytes = task.countOfBytesReceived
      record.httpStatus = status
      if let error = error as NSError? {
        record.outcome = error.domain == NSURLErrorDomain && error.code == NSURLErrorCancelled ? .cancelled : .failed
        record.message = CommandFailure.withoutNames(error.localizedDescription)
        record.errorDomain = error.domain
        record.errorCode = error.code
        record.resumeData = kept
      } else if let status, !(200..<300 ~= status) {
        record.outcome = .httpError
      } else if task is URLSessionUploadTask {
        record.outcome = .saved
        record.isUpload = true
        record.bytes = task.countOfBytesSent
      } else if !record.outcome.isFinal {
        record.outcome = .failed
        record.message = "The transfer service gave no file."
      }
    }
  }

  /// A record that can't be written must not keep a file from its place.
  private func record(creates: Bool = true, _ change: (inout DownloadRecord) -> Void) {
    _ = try? store.update(session) { present in
      guard creates || present != nil else { return nil }
      var record =
        present?.found
        ?? DownloadRecord(
          session: session, url: task.originalRequest?.url?.withoutPassword.absoluteString ?? "",
          destination: note.destination)
      change(&record)
      return record
    }
  }
}
