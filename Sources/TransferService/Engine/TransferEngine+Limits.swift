import Foundation
import SystemServices
import TransferProtocol

/// Limits of bandwidth: kept in the queue, and counted by the gate that all runs pass.
extension TransferEngine {
  /// Takes the limits of an earlier life over; those of sessions come with them.
  func recoverLimits() {
    dispatchPrecondition(condition: .onQueue(queue))
    do {
      for (subject, table) in try store.limitsBesidesSessions() { bandwidth.set(table, of: subject) }
    } catch { log.error("the limits of bandwidth could not be read: \(error)") }
  }

  /// The limits of a session that becomes live.
  func recoverLimits(ofSession id: SessionID) {
    dispatchPrecondition(condition: .onQueue(queue))
    do { bandwidth.set(try store.limits(ofSession: id), of: .session(id)) } catch {
      log.error("the limits of session \(id) could not be read: \(error)")
    }
  }

  func limit(
    _ request: LimitTransfers, of app: AppID, _ message: ClientMessage, from client: any ServiceClient
  ) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    try checkRate(of: request.limit)
    if case .transfer(let id) = request.subject {
      guard try changeable(id, for: message, from: client) != nil else { return }
    }
    try set(request.limit, of: limitSubject(request.subject, by: client, of: app), message, from: client)
  }

  /// - Parameter asking: the app that asks.
  func limit(
    _ request: LimitApp, asking: AppID, _ message: ClientMessage, from client: any ServiceClient
  ) throws {
    dispatchPrecondition(condition: .onQueue(queue))
    try checkRate(of: request.limit)
    let reach = try reach(of: client)
    let app = try store.app(atPath: request.app)
    guard reach == .everyApp || app == asking else {
      throw Refusal(
        .notPermitted,
        "Only the \(UsersTool.name) that is installed beside the transfer service limits the transfers of other apps.")
    }
    guard let app else {
      throw Refusal(.unknownTask, "The transfer service knows no app with the program \(request.app).")
    }
    let subject = try request.session.map { try limitSubject(.session($0), by: client, of: app) } ?? .app(app)
    try set(request.limit, of: subject, message, from: client)
  }

  private func checkRate(of limit: BandwidthLimit) throws {
    guard let rate = limit.bytesPerSecond, rate < BandwidthLimit.lowest else { return }
    throw Refusal(
      .invalidRequest, "A limit is \(BandwidthLimit.lowest) bytes per second at least; suspend what shall not run.")
  }

  private func set(
    _ limit: BandwidthLimit, of subject: LimitSubject, _ message: ClientMessage, from client: any ServiceClient
  ) throws {
    guard !isChanging(.limits(subject), for: message, from: client) else { return }
    var table = bandwidth.limits(of: subject)
    // A session that is not live has its limits in the queue alone.
    if case .session(let id) = subject { table = try store.limits(ofSession: id) }
    table.set(limit)
    guard table.limits.count <= LimitTable.maximum else {
      throw Refusal(.tooLarge, "There may be \(LimitTable.maximum) limits at most for the same transfers.")
    }
    let changed = table
    answer(message, from: client, changing: .limits(subject)) {
      store.setLimits(changed, of: subject, ended: $0)
    } _: { engine, _ in
      engine.limited(subject, changed)
      engine.log.info("\(client.peer.executable.path) changed the limits of \(subject.logText): \(changed.logText)")
      return .done
    }
  }

  private func limited(_ subject: LimitSubject, _ table: LimitTable) {
    // One that is over meanwhile needs none.
    if case .transfer(let id) = subject, transfers[id] == nil { return }
    bandwidth.set(table, of: subject)
    for id in transfers.ids where limitPath(of: id).contains(subject) { tellWatchers(of: id) }
  }

  private func limitSubject(
    _ subject: LimitTransfers.Subject, by client: any ServiceClient, of app: AppID
  ) throws -> LimitSubject {
    switch subject {
    case .transfer(let id):
      guard transfers[id] != nil else { throw Refusal.withoutLimit(id) }
      return .transfer(id)
    case .session(let identifier):
      guard let id = try store.session(identifier, of: app) else {
        throw Refusal(.unknownTask, "There is no session \(identifier).")
      }
      return .session(id)
    case .app: return .app(app)
    case .service:
      guard settings.mayLimitService(client.peer.executable) else {
        throw Refusal(.identity, "Only the program urlsession may limit the transfers of all apps.")
      }
      return .service
    }
  }

  /// The limit that the app has set for a task, besides those of the user.
  func limit(_ id: TransferID, as description: TransferDescription) { limit(id, as: TransferOutline(description)) }

  func limit(_ id: TransferID, as outline: TransferOutline) {
    dispatchPrecondition(condition: .onQueue(queue))
    bandwidth.set(LimitTable(ofApp: outline.bytesPerSecond, outline.hourlyLimits), of: .task(id))
  }

  /// The limit that the app has set for a session, besides those of the user.
  func limit(_ id: SessionID, as options: SessionOptions) {
    dispatchPrecondition(condition: .onQueue(queue))
    bandwidth.set(LimitTable(ofApp: options.bytesPerSecond, options.hourlyLimits), of: .configuration(id))
  }

  /// The subjects whose limits hold for a transfer.
  func limitPath(of id: TransferID) -> [LimitSubject] {
    guard let transfer = transfers[id], let session = sessions[transfer.session] else { return [.service] }
    return [
      .transfer(id), .task(id), .session(session.id), .configuration(session.id), .app(session.app), .service,
    ]
  }

  /// The limits that hold for a transfer, for a list; nil where there are none.
  func shownLimits(of id: TransferID) -> [TransferLimit]? {
    guard bandwidth.hasLimits else { return nil }
    let shown = limitPath(of: id).flatMap { subject in
      bandwidth.limits(of: subject).limits.map { TransferLimit(scope: subject.scope, limit: $0) }
    }
    return shown.isEmpty ? nil : shown
  }

  /// The pace of a run that begins.
  func pace(of id: TransferID) -> TransferPace {
    TransferPace(gate: bandwidth, path: limitPath(of: id), clock: clock, yields: yields(id))
  }

  /// A transfer that is slow because of a limit is not taken for one whose server is slow.
  func tellHeldBackTime(of id: TransferID) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let pace = transfers[id]?.pace else { return }
    scheduler.heldBack(for: pace.heldBackTime(), id)
  }
}

extension LimitSubject {
  fileprivate var scope: LimitScope {
    switch self {
    case .transfer, .task: .transfer
    case .session, .configuration: .session
    case .app: .app
    case .service: .service
    }
  }
}

extension LimitTable {
  /// Rates that are lower than the lowest count as that.
  ///
  /// - Parameters:
  ///   - rate: bytes a second; nil: no limit.
  ///   - hourly: those for hours.
  fileprivate init(ofApp rate: Int64?, _ hourly: [BandwidthLimit]?) {
    self.init()
    func allowed(_ rate: Int64?) -> Int64? { rate.map { max($0, BandwidthLimit.lowest) } }
    if let rate = allowed(rate) { set(BandwidthLimit(bytesPerSecond: rate)) }
    for limit in (hourly ?? []).prefix(LimitTable.maximum) where limit.hours != nil {
      set(BandwidthLimit(bytesPerSecond: allowed(limit.bytesPerSecond), hours: limit.hours))
    }
  }
}
