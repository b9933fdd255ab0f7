import CommandLineOutput
import Foundation
import Synchronization
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

  /// The service's records of the one transfer of each of the sessions, in one list however many there are. One that is just
  /// being replaced is asked again: it has the transfers, and saying otherwise would have the user start them twice.
  static func statuses(
    ofSessions identifiers: [String], _ service: any ServiceRequests
  ) async throws -> [String: TransferStatus] {
    let wanted = Set(identifiers)
    let deadline = ContinuousClock.now + .seconds(5)
    while true {
      do {
        let statuses = try await service.transfers().filter { wanted.contains($0.session) }
        return Dictionary(statuses.map { ($0.session, $0) }) { $1 }
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

  /// One of a group whose task was resumed; the service may not have it yet.
  private struct Resumed {
    let identifier: String
    let session: URLSession
    let receiver: DownloadReceiver
    let store: RecordStore
    /// The service's number of the transfer; nil where the service has not taken it.
    let number: @Sendable () async -> Int64?
    /// Why the service does not have it yet; nil where it has.
    let waiting: @Sendable () -> String?
    let hasLogin: Bool
    let hasKeychain: Bool

    /// Leaves it to the service. Without a keychain this process alone has the password, until the server has asked for it.
    func leave() {
      guard !hasKeychain else { return session.leaveTasks() }
      Task {
        await receiver.waitForAnswer(limit: nil)
        session.leaveTasks()
      }
    }
  }

  /// Hands a download or an upload over; returns when the service has it for good.
  static func start(_ order: BackgroundOrder) async throws -> BackgroundDownload {
    guard let outcome = await start([order]).first else { throw notTaken }
    return try outcome.mapError(\.failure).get()
  }

  /// Hands several over together; returns when the service has them for good.
  ///
  /// Each has a session of its own, so that no two processes ever want the same one, and so that a file is put in its place
  /// when it is complete, whatever the others do. The sessions wait for the service at the same time, so that it can write
  /// several tasks with one commit. Each holds a connection to the service.
  ///
  /// - Parameter leaving: Which are left to the service before it has all of them.
  /// - Returns: For each of `orders` the download, or why the service does not have it, or may not have it. One that can't be handed over keeps
  ///   none of the others back, and leaves no record.
  static func start(
    _ orders: [BackgroundOrder], leaving: GroupLeaving.Rule = .whenOthersWait
  ) async -> [Result<BackgroundDownload, HandOverFailure>] {
    // Starts the service, and says early when there is none.
    let service: PatientConnection
    do { service = try await PatientConnection.open() } catch {
      return orders.map { _ in .failure(.notQueued(.service(error))) }
    }
    defer { service.close() }
    var resumed: [Result<Resumed, HandOverFailure>] = []
    do {
      let state = try DownloadNote.usualState()
      RecordStore(state: state).prune()
      KeptBytes(state: state).use()
      KeptBytes(state: state).prune()
      for order in orders { resumed.append(await resume(order, state).mapError(HandOverFailure.notQueued)) }
    } catch { return orders.map { _ in .failure(.notQueued(.service(error))) } }
    let begun = resumed.compactMap { try? $0.get() }
    await handOver(begun, leaving)
    let statuses: [String: TransferStatus]
    do {
      statuses = begun.isEmpty ? [:] : try await self.statuses(ofSessions: begun.map(\.identifier), service)
    } catch {
      // The records stay.
      for one in begun { one.leave() }
      return resumed.map { $0.flatMap { _ in .failure(.perhapsQueued(.service(error))) } }
    }
    var downloads: [Result<BackgroundDownload, HandOverFailure>] = []
    for one in resumed {
      switch one {
      case .failure(let failure): downloads.append(.failure(failure))
      case .success(let one): downloads.append(await outcome(of: one, statuses[one.identifier]))
      }
    }
    return downloads
  }

  /// Said while the service has not taken `count` of `all`.
  static func line(waitingFor count: Int, of all: Int, because reason: String) -> String {
    TextTable.printable("urlsession: waiting to hand over \(count) of \(all): \(reason)")
  }

  /// Others may wait for a place that another command gives up soon.
  private static let patienceForOthers = Duration.seconds(3)

  /// Shared by the tasks that hand the sessions of a group over.
  private final class Leaving: Sendable {
    let group: Mutex<GroupLeaving>

    init(_ group: GroupLeaving) { self.group = Mutex(group) }
  }

  /// Returns when the service has the tasks of all.
  private static func handOver(_ begun: [Resumed], _ rule: GroupLeaving.Rule) async {
    let leaving = Leaving(GroupLeaving(rule, count: begun.count))
    let timer = Task {
      try await Task.sleep(for: patienceForOthers)
      let (left, missing) = leaving.group.withLock { ($0.patienceEnded(), $0.missing) }
      for index in left { begun[index].leave() }
      if missing > 0, let reason = begun.lazy.compactMap({ $0.waiting() }).first {
        StandardError.print(line(waitingFor: missing, of: begun.count, because: reason))
      }
    }
    defer { timer.cancel() }
    await withDiscardingTaskGroup { tasks in
      for (index, one) in begun.enumerated() {
        tasks.addTask {
          await one.session.flush()
          if leaving.group.withLock({ $0.handedOver(index) }) { one.leave() }
        }
      }
    }
  }

  private static func outcome(
    of one: Resumed, _ status: TransferStatus?
  ) async -> Result<BackgroundDownload, HandOverFailure> {
    if let status { return .success(taken(one, as: status.transfer)) }
    let error = one.receiver.completionError
    let isOver = isOver(one.store.read(one.identifier), error)
    if isOver, let number = await one.number() { return .success(taken(one, as: number)) }
    if one.hasLogin { await DownloadLogin.remove(session: one.identifier) }
    if !isOver { one.store.remove(one.identifier) }
    return .failure(.notQueued(error.map { .loading($0) } ?? notTaken))
  }

  /// Whether the service has had a transfer that it does not list: it forgets the oldest of those that are over.
  ///
  /// - Parameter error: what this process was told of its end.
  static func isOver(_ record: DownloadRecord?, _ error: (any Error)?) -> Bool {
    error == nil && record?.outcome.isFinal == true
  }

  private static let notTaken = CommandFailure(
    .serviceUnavailable, "the transfer service did not take the transfer", advice: "see the service's log")

  /// Writes the record, and resumes the task, without waiting for the service.
  private static func resume(
    _ order: BackgroundOrder, _ state: String
  ) async -> Result<Resumed, CommandFailure> {
    let note = DownloadNote(destination: order.destination, state: state)
    let store = RecordStore(state: state)
    let identifier = newIdentifier(isDiscretionary: order.isDiscretionary)
    let (request, login) = (order.request, order.login)
    let hasKeychain = await login?.keep(session: identifier) ?? true
    let description: String
    do {
      description = try note.taskDescription
      try store.update(identifier) { _ in
        var record = DownloadRecord(
          session: identifier, url: PasswordURL(request.url?.absoluteString ?? "").url,
          destination: order.destination)
        if login != nil, hasKeychain { record.hasLogin = true }
        if order.file != nil { record.isUpload = true }
        if order.notifies { record.notifies = true }
        record.retry = order.retry
        if order.isOfURLAlone, record.url == order.request.url?.absoluteString { record.isOfURLAlone = true }
        return record
      }
    } catch {
      if login != nil { await DownloadLogin.remove(session: identifier) }
      return .failure(
        CommandFailure(
          .cannotWrite, "\(store.folder) can't be written: \(error.localizedDescription)",
          advice: "make room, or set XDG_STATE_HOME to a folder of yours"))
    }
    let showsEnd = order.showsEnd
    let receiver = DownloadReceiver(
      login: login, downloadEnded: { record in if showsEnd { DownloadNotification.show(record) } })
    let session = URLSession(configuration: configuration(identifier), delegate: receiver, delegateQueue: nil)
    let task = makeTask(order, session)
    task.taskDescription = description
    task.priority = order.priority
    task.transferRetryPolicy = order.retry?.policy
    order.prepare(task)
    task.resume()
    return .success(
      Resumed(
        identifier: identifier, session: session, receiver: receiver, store: store, number: task.transferNumber,
        waiting: {
          guard let reason = task.reasonForWaiting, reason.kind == .handingOver else { return nil }
          return reason.sentence
        }, hasLogin: login != nil, hasKeychain: hasKeychain))
  }

  private static func makeTask(_ order: BackgroundOrder, _ session: URLSession) -> URLSessionTask {
    if let file = order.file { return session.uploadTask(with: order.request, fromFile: URL(fileURLWithPath: file)) }
    if let data = order.resumeData { return session.downloadTask(withResumeData: data) }
    return session.downloadTask(with: order.request)
  }

  private static func taken(_ resumed: Resumed, as transfer: Int64) -> BackgroundDownload {
    _ = try? resumed.store.update(resumed.identifier) { record in
      var record = record
      record?.transfer = transfer
      return record
    }
    return BackgroundDownload(
      transfer: transfer, identifier: resumed.identifier, session: resumed.session, store: resumed.store,
      receiver: resumed.receiver, hasKeychain: resumed.hasKeychain)
  }

  /// Leaves it to the service and the process that it starts at the end, so that another one can have its connection.
  func leave() { session.leaveTasks() }

  /// The same, as soon as no server needs a password that this process alone has.
  func leaveOnceAnswered() async {
    if !hasKeychain { await receiver.waitForAnswer(limit: nil) }
    leave()
  }

  /// How long a command that waits keeps the sessions of so many transfers, each with one of the connections that the service has
  /// for their program; nil: until they are over. Those of one transfer are no more than the commands that may watch, for which
  /// there are fewer places.
  static func patience(keeping count: Int) -> Duration? { count > 1 ? .seconds(30) : nil }

  /// Stays until the servers of all of them have answered.
  static func waitForLogins(_ downloads: [BackgroundDownload], isQuiet: Bool) async {
    await withDiscardingTaskGroup { group in
      for (number, download) in downloads.enumerated() {
        // The note is the same for all.
        group.addTask { await download.waitForLogin(isQuiet: isQuiet || number > 0) }
      }
    }
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
