import Foundation
import Synchronization
import TransferProtocol
import URLLoadingSystem
import WebPage

/// Follows all transfers for the readers of the web page, through the ends and starts of the transfer service. It starts
/// none: a page that is open must not keep a service with nothing to do.
final class TransferFeed: Sendable {
  private struct State {
    var shown = ShownTransfers()
    /// Of all transfers of the user together.
    var limits: [BandwidthLimit] = []
    var metrics = TransferMetrics()
    var connection: ServiceConnection?
    var readers: [Int: AsyncStream<WebUpdate>.Continuation] = [:]
    var lastReader = 0
  }

  private let store: RecordStore
  private let state = Mutex(State())

  private static let maximumReaders = 16
  /// Updates that wait for a reader.
  private static let readerPatience = 1000
  /// The service is another process, and there is no other way to hear that it runs.
  private static let interval = Duration.milliseconds(500)

  init(store: RecordStore) { self.store = store }

  /// Until the task is cancelled.
  func run() async throws {
    replaceAll([], limits: [])
    while true {
      do { try await followConnection() } catch is CancellationError { throw CancellationError() } catch {}
      let wasConnected = state.withLock { state in
        defer { state.connection = nil }
        return state.connection != nil
      }
      if wasConnected { change { [TransferFeed.snapshot($0)] } }
      try await Task.sleep(for: TransferFeed.interval)
    }
  }

  /// Until the connection ends; throws at once when no service runs.
  private func followConnection() async throws {
    var opened: ServiceConnection?
    defer { opened?.close() }
    let watched = try await WatchedTransfers(includesFinished: true) { opened = $0 }
    guard let connection = opened else { return }
    let limits = try await connection.serviceLimits()
    state.withLock { $0.connection = connection }
    replaceAll(watched.transfers, limits: limits)
    for await status in watched.changes { apply(status) }
  }

  // MARK: Changes

  private func report(_ status: TransferStatus) -> TransferReport {
    // Before its end a transfer's record says nothing that the service does not.
    status.state == .completed ? TransferReport(status, in: store) : TransferReport(status)
  }

  private func replaceAll(_ statuses: [TransferStatus], limits: [BandwidthLimit]) {
    let current = statuses.map(report)
    let known = Set(current.map(\.transfer))
    let older = store.all().compactMap(TransferReport.init).filter { $0.outcome != nil && !known.contains($0.transfer) }
    change { state in
      let before = state.shown.reports
      state.shown.replaceAll(older + current)
      for report in state.shown.reports.values { state.metrics.count(report, before: before[report.transfer]) }
      state.limits = limits
      return [TransferFeed.snapshot(state)]
    }
  }

  private func apply(_ status: TransferStatus) {
    let report = report(status)
    change { state in
      let (change, removed) = state.shown.update(report)
      switch change {
      case .ignored: return []
      case .changed(let before): state.metrics.count(report, before: before)
      case .new:
        // A transfer that begins and ends between two looks counts from nothing.
        var before = report
        before.received = 0
        before.outcome = nil
        state.metrics.count(report, before: before)
      }
      var updates = [(try? JSONOutput.line(report)).map { WebUpdate(.transfer, $0) }]
      if !removed.isEmpty {
        updates.append((try? JSONOutput.line(WebRemoval(transfers: removed))).map { WebUpdate(.removed, $0) })
      }
      if status.state != .completed {
        // Its status tells that the limits of all were changed.
        let limits = (status.limits ?? []).filter { $0.scope == LimitScope.service.rawValue }.map(\.limit)
        if limits != state.limits {
          state.limits = limits
          updates.append(TransferFeed.snapshot(state))
        }
      }
      return updates
    }
  }

  /// Tells the readers of a change in the order in which the changes are made: none gets an older state after a newer one.
  private func change(_ body: (inout State) -> [WebUpdate?]) {
    let slow = state.withLock { state in
      let updates = body(&state).compactMap(\.self)
      return state.readers.values.filter { reader in
        updates.contains { if case .dropped = reader.yield($0) { true } else { false } }
      }
    }
    // A reader that missed one has to begin again.
    for reader in slow { reader.finish() }
  }

  private static func snapshot(_ state: State) -> WebUpdate? {
    (try? document(of: state)).map { WebUpdate(.snapshot, $0) }
  }

  private static func document(of state: State) throws -> [UInt8] {
    try JSONOutput.line(
      WebSnapshot(
        serviceRuns: state.connection != nil, abilities: TransferActions.abilities,
        limits: state.limits.map { ShownLimit(TransferLimit(scope: .service, limit: $0)) },
        transfers: state.shown.all))
  }

  // MARK: For the page

  var connection: ServiceConnection? { state.withLock { $0.connection } }
}

extension TransferFeed: WebPageSource {
  func updates() throws -> AsyncStream<WebUpdate> {
    let (stream, reader) = AsyncStream.makeStream(
      of: WebUpdate.self, bufferingPolicy: .bufferingOldest(TransferFeed.readerPatience))
    try state.withLock { state in
      guard state.readers.count < TransferFeed.maximumReaders else {
        throw WebRefusal(status: 503, "Too many pages are open.")
      }
      state.lastReader += 1
      let number = state.lastReader
      reader.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.readers.removeValue(forKey: number) }
      }
      reader.yield(WebUpdate(.snapshot, try TransferFeed.document(of: state)))
      state.readers[number] = reader
    }
    return stream
  }

  func snapshot() throws -> [UInt8] { try state.withLock { try TransferFeed.document(of: $0) } }

  func tries(of transfer: Int64) async throws -> [UInt8] {
    guard let connection else { throw WebRefusal(status: 503, "The transfer service does not run.") }
    guard let snapshot = try await connection.transfer(transfer) else {
      throw WebRefusal(status: 404, "There is no transfer \(transfer).")
    }
    return try JSONOutput.line(TransferTriesReport(snapshot.tries ?? []))
  }

  func perform(_ action: WebAction) async throws {
    guard let connection else { throw WebRefusal(status: 503, "The transfer service does not run.") }
    do { try await TransferActions.perform(action, over: connection) } catch let refusal as Refusal {
      throw WebRefusal(status: refusal.reason == .unknownTask ? 404 : 409, refusal.message)
    }
    guard case .limit = action else { return }
    // Without a transfer under way no status tells of it.
    let limits = try await connection.serviceLimits()
    change { state in
      state.limits = limits
      return [TransferFeed.snapshot(state)]
    }
  }

  func metrics() -> String {
    state.withLock { $0.metrics.text(of: $0.shown.reports.values, serviceRuns: $0.connection != nil) }
  }
}

/// All that the page shows.
struct WebSnapshot: Encodable, Sendable {
  var serviceRuns: Bool
  var abilities: TransferActions.Abilities
  /// Of all transfers of the user together.
  var limits: [ShownLimit]
  var transfers: [TransferReport]
}

/// Transfers that are over and no longer shown.
struct WebRemoval: Encodable, Sendable {
  var transfers: [Int64]
}
