import Foundation
import TransferProtocol
import URLLoadingSystem

/// A download that the transfer service has taken over. While the value is kept, this process hears of its end.
struct BackgroundDownload: Sendable {
  let transfer: Int64
  let identifier: String
  let session: URLSession
  let store: RecordStore
  private let receiver: DownloadReceiver
  /// Whether the keychain has what the download says to its server, if it says anything.
  private let hasKeychain: Bool

  /// The service's record of the one transfer of a session. One that is just being replaced is asked again: it has
  /// the transfer, and saying otherwise would have the user start it twice.
  private static func status(ofSession identifier: String) async throws -> TransferStatus? {
    let deadline = ContinuousClock.now + .seconds(5)
    while true {
      do {
        let service = try await PatientConnection.open()
        defer { service.close() }
        return try await service.transfers().last { $0.session == identifier }
      } catch {
        let isPassing = error is ServiceUnavailable || (error as? Refusal)?.reason == .shuttingDown
        guard isPassing, ContinuousClock.now < deadline else { throw error }
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  static let sessionPrefix = "urlsession."
  private static let discretionaryPrefix = sessionPrefix + "discretionary."

  /// The configuration of a download's session. The identifier tells whether it can wait, so that every process that comes
  /// back to the session makes it the same.
  static func configuration(_ identifier: String) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
    configuration.isDiscretionary = identifier.hasPrefix(discretionaryPrefix)
    return configuration
  }

  static func newIdentifier(isDiscretionary: Bool) -> String {
    (isDiscretionary ? discretionaryPrefix : sessionPrefix) + UUID().uuidString
  }

  /// Hands a download over; returns when the service has it for good.
  ///
  /// Each has a session of its own, so that no two processes ever want the same one.
  ///
  /// - Parameters:
  ///   - file: The file to send, which is then the destination's path too; nil for a download.
  ///   - isDiscretionary: Whether it can wait for good conditions.
  ///   - notifies: Whether the desktop is told of the end.
  ///   - showsEnd: Whether this process tells it when the end comes here, and not to a process that the service starts.
  ///   - prepare: Sets more of the task before it is handed over.
  static func start(
    _ request: URLRequest, to destination: Destination, priority: Float, login: DownloadLogin? = nil,
    sending file: String? = nil, isDiscretionary: Bool = false, notifies: Bool = false, showsEnd: Bool = true,
    prepare: (URLSessionTask) -> Void = { _ in }
  ) async throws -> BackgroundDownload {
    // Starts the service, and says early when there is none.
    do { try await PatientConnection.open().close() } catch { throw CommandFailure.service(error) }
    let note = DownloadNote(destination: destination, state: try DownloadNote.usualState())
    let store = RecordStore(state: note.state)
    let identifier = newIdentifier(isDiscretionary: isDiscretionary)
    let hasKeychain = await login?.keep(session: identifier) ?? true
    do {
      store.prune()
      try store.update(identifier) { _ in
        var record = DownloadRecord(
          session: identifier, url: PasswordURL(request.url?.absoluteString ?? "").url, destination: destination)
        if login != nil, hasKeychain { record.hasLogin = true }
        if file != nil { record.isUpload = true }
        if notifies { record.notifies = true }
        return record
      }
    } catch {
      if login != nil { await DownloadLogin.remove(session: identifier) }
      throw CommandFailure(
        .cannotWrite, "\(store.folder) can't be written: \(error.localizedDescription)",
        advice: "make room, or set XDG_STATE_HOME to a folder of yours")
    }
    let receiver = DownloadReceiver(
      login: login, downloadEnded: { record in if showsEnd { DownloadNotification.show(record) } })
    let session = URLSession(configuration: configuration(identifier), delegate: receiver, delegateQueue: nil)
    let task =
      file.map { session.uploadTask(with: request, fromFile: URL(fileURLWithPath: $0)) }
      ?? session.downloadTask(with: request)
    task.taskDescription = try note.taskDescription
    task.priority = priority
    prepare(task)
    task.resume()
    await session.flush()
    do {
      guard let status = try await status(ofSession: identifier) else {
        if login != nil { await DownloadLogin.remove(session: identifier) }
        throw receiver.completionError.map { CommandFailure.loading($0) }
          ?? CommandFailure(
            .serviceUnavailable, "the transfer service did not take the transfer", advice: "see the service's log")
      }
      _ = try? store.update(identifier) { record in
        var record = record
        record?.transfer = status.transfer
        return record
      }
      return BackgroundDownload(
        transfer: status.transfer, identifier: identifier, session: session, store: store, receiver: receiver,
        hasKeychain: hasKeychain)
    } catch { throw CommandFailure.service(error) }
  }

  /// Stays until the server has answered, since the password has to be there when it asks. With a keychain another
  /// process can say it later.
  func waitForLogin(isQuiet: Bool) async {
    if !hasKeychain, !isQuiet {
      StandardError.print(
        "There is no keychain: the password is in the transfer service's memory only. Waiting until the server has asked "
          + "for it; where the service is started again before the download is over, the server is not answered.")
    }
    let limit = hasKeychain ? Duration.seconds(5) : nil
    await receiver.waitForAnswer(limit: limit)
  }
}
