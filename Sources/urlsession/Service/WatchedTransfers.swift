import TransferProtocol
import URLLoadingSystem

/// The transfers of every app, and their changes from then on. Changes that are told while the list is read come after it: what
/// the list says can be older.
struct WatchedTransfers: Sendable {
  let transfers: [TransferStatus]
  /// Ends with the connection, and when more changes wait than are kept: then everything has to be asked for anew.
  let changes: AsyncStream<TransferStatus>

  /// Changes that wait to be told.
  private static let patience = 10_000

  /// Connects to a service that runs.
  ///
  /// - Parameter connected: Gets the connection before the list is read. The receiver closes it, also where this throws.
  init(includesFinished: Bool, connected: (ServiceConnection) -> Void) async throws {
    let (changes, feed) = AsyncStream.makeStream(
      of: TransferStatus.self, bufferingPolicy: .bufferingOldest(WatchedTransfers.patience))
    let connection = try await ServiceConnection.open(
      startsService: false,
      onPush: { push in
        if case .transferChanged(let status) = push, case .dropped = feed.yield(status) { feed.finish() }
      },
      onClose: { feed.finish() })
    connected(connection)
    try await self.init(includesFinished: includesFinished, over: connection, changes: changes)
  }

  /// - Parameter changes: What is pushed over the connection of the requests.
  init(
    includesFinished: Bool, over service: some ServiceRequests, changes: AsyncStream<TransferStatus>
  ) async throws {
    // Changes are told from here on, so that none falls between the list and them.
    do { _ = try await service.request(.watch(Watch(ofEveryApp: true))) } catch let refusal as Refusal
      where refusal.reason == .notPermitted
    { _ = try await service.request(.watch(Watch())) }
    transfers = try await service.allTransfers(includesFinished: includesFinished)
    self.changes = changes
  }
}
