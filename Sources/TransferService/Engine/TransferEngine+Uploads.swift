import Crypto
import Dispatch
import Foundation
import SystemServices
import TransferProtocol

/// The files of uploads: passed by the app as descriptors, copied before a task counts as created, removed when it is over.
extension TransferEngine {
  /// Creates tasks, and answers later: uploads wait for copies of their files.
  func create(
    _ request: CreateTasks, session id: SessionID, for message: ClientMessage, from client: any ServiceClient
  ) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    // Closed at the end, where no copy is made of them.
    let passed = client.takeFiles(of: message.id)
    try TaskAdmission.checkTokens(request.tasks)
    let uploads = request.tasks.filter { $0.kind == .upload }
    guard !uploads.isEmpty else { return try create(request, session: id, message, from: client) }
    // An app that was not told of the creation asks for it again, when its file may be gone.
    let known = try store.known(uploads.map(\.token), session: id)
    let new = uploads.filter { !known.contains($0.token) }
    guard !new.isEmpty else { return try create(request, session: id, message, from: client) }
    for task in new { try TaskAdmission.checkUpload(task) }
    let files = try TaskAdmission.files(passed?.files, of: uploads)
    let sources = new.compactMap { task in
      files[task.token].map { UploadSnapshots.Source(task: task, file: $0) }
    }
    snapshots.take(sources, of: client.peer.executable.path, room: try uploadRoom(session: id)) { result in
      // Their places are taken until the copies are there.
      withExtendedLifetime(passed) {}
      self.enter { $0.uploadsCopied(result, request, message, client) }
    }
  }

  private func uploadsCopied(
    _ result: Result<[String: StoredUpload], any Error>, _ request: CreateTasks, _ message: ClientMessage,
    _ client: any ServiceClient
  ) {
    // A later request of the connection may be carried out at this moment.
    let later: Waiting = .work { $0.uploadsCopied(result, request, message, client) }
    guard !keepWaiting(later, of: client) else { return }
    var needless: [String] = []
    defer { removeCopies(needless) }
    do {
      let uploads = try unlessKeyIsMissing { try result.get() }
      needless = uploads.values.compactMap(\.copyName)
      try checkServing()
      guard let app = clients[client.id]?.app else { return }
      let id = try held(request.session, by: client, app)
      try create(request, session: id, uploads: uploads, message, from: client)
      needless = []
      let copied: Int64 = uploads.values.reduce(0) { $1.copyName == nil ? $0 : $0.saturatingAdd(max(0, $1.size)) }
      diskUse.addCopies(copied, of: app)
    } catch { refuse(message, from: client, because: error) }
  }

  /// A copy that can't share the blocks of the app's file is sealed, as the fields of requests are.
  private func unlessKeyIsMissing<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch is UploadSnapshots.NoKey { throw unsealable() }
  }

  /// The key of a sealed copy.
  enum CopyKey {
    /// nil: there is none, or its key is gone, and the app's own file is sent if it is as it was.
    case known(SymmetricKey?)
    /// The key is at a place that can't be read now: a clause.
    case locked(because: String)
  }

  func copyKey(of stored: StoredTransfer) -> CopyKey {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let copy = stored.upload?.sealedCopy else { return .known(nil) }
    switch key.unsealFields(copy.key, for: SealedCopy.purpose(of: stored.description.token)) {
    case .open(let content) where content.count == SealedChunks.keyLength: return .known(SymmetricKey(data: content))
    case .locked(let cause): return .locked(because: cause)
    case .open, .lost: return .known(nil)
    }
  }

  /// Gives the copy of a new upload the name of its transfer. Where that fails the next life of the service does it.
  func nameUpload(_ upload: StoredUpload?, of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let upload else { return }
    if let copy = upload.copyName {
      do { try files.nameUpload(copy, of: id) } catch {
        log.error("the copy of the file of transfer \(id) has no name yet: \(error)")
      }
    }
    runner.keepUpload(id)
  }

  /// After a start: copies that were made before a crash get the names of their transfers. Returns those that can't be
  /// named now, which are when their transfers run.
  func nameUploads() throws -> Set<String> {
    let uploads = try store.unfinishedUploads()
    var unnamed: Set<String> = []
    for (id, upload) in uploads {
      do {
        if let copy = upload.copyName { try files.nameUpload(copy, of: id) }
        if try files.disk.size(of: files.journals.path(id)) == nil { runner.keepUpload(id) }
      } catch {
        log.error("the copy of the file of transfer \(id) has no name yet: \(error)")
        if let copy = upload.copyName { unnamed.insert(copy) }
      }
    }
    // After a quarantine they may be of tasks that were lost, and are set aside.
    guard store.quarantine == nil else { return unnamed }
    for name in try files.unnamedUploads() where !unnamed.contains(name) {
      removeFiles(.file("\(files.uploadDirectory)/\(name)"))
    }
    return unnamed
  }

  func addSentBytes(to completion: inout Completion, of id: TransferID) {
    guard let sent = transfers[id]?.sent else { return }
    (completion.countOfBytesSent, completion.countOfBytesExpectedToSend) = (sent.count, sent.expected)
  }
}

extension TaskAdmission {
  /// A token is of one task.
  static func checkTokens(_ tasks: [TransferDescription]) throws {
    guard Set(tasks.map(\.token)).count == tasks.count else {
      throw Refusal(.invalidRequest, "Two tasks of the request have the same token.")
    }
  }

  /// The open files of uploads, by their tokens. The service opens no file of an app itself: it may see files that the app
  /// does not.
  static func files(_ passed: [SourceFile]?, of uploads: [TransferDescription]) throws -> [String: SourceFile] {
    guard let passed else {
      throw Refusal(
        .unsupported,
        "The app names the file of an upload by its path only, and the transfer service takes files that the app has "
          + "opened: update the app's library.")
    }
    guard passed.count == uploads.count else {
      throw Refusal(.invalidRequest, "The request has \(uploads.count) uploads and brings \(passed.count) open files.")
    }
    return Dictionary(zip(uploads.map(\.token), passed)) { first, _ in first }
  }

  static func checkUpload(_ description: TransferDescription) throws {
    switch description.kind {
    case .download:
      guard description.upload == nil else { throw Refusal(.invalidRequest, "A download has no file to send.") }
    case .upload:
      guard let path = description.upload?.path, path.hasPrefix("/"), path.utf8.count <= 4096, !path.contains("\0")
      else {
        throw Refusal(.invalidRequest, "An upload names its file by an absolute path.")
      }
      guard description.request.body == nil, description.resumePoint == nil else {
        throw Refusal(.invalidRequest, "The body of an upload is its file.")
      }
    case .other(let name):
      throw Refusal(.unsupported, "The service knows no transfers of the kind “\(name)”: it is older than the app.")
    }
  }
}

/// How much of an upload's file is sent.
package struct SentBytes: Sendable, Equatable {
  package var count: Int64
  /// -1 when it is not known.
  package var expected: Int64

  package init(_ count: Int64, of expected: Int64) {
    self.count = count
    self.expected = expected
  }
}
