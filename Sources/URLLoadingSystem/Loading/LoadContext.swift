import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import NIOPosix

/// All that one load knows besides its request. Confined to `loop` once the load has started.
package final class LoadContext: @unchecked Sendable {
  private let settings: LoadSettings
  package var configuration: LoadConfiguration { _read { yield settings.configuration } }
  package let transport: HTTPTransport
  package let client: any LoadClient
  package let control: LoadControl
  /// The event loop that the load runs on, as an executor of Swift tasks. Changed by `moveToHost`.
  package private(set) var executor: LoopExecutor
  /// The event loop where connections to the origin live.
  private let host: LoopExecutor
  /// Counts the loads in the share of the origin that this one was given; nil where it was given none.
  private let share: HostLoads.Counter?
  /// Whether the load runs on a loop that it was given as a share of its origin.
  var isPlaced: Bool { share != nil }
  /// Leads to the load from any thread: the loop that it begins on, which stays a name of the loop that it moves to.
  let entry: any EventLoop
  /// The records of the wire, one a hop, in order. Empty unless records are kept.
  package var transactions: [TransactionRecord] = []
  /// The anchor by which the transactions' times are read as dates.
  let anchor: DateAnchor
  /// The protocol that the connection is to change to; nil for none.
  var upgrade: ProtocolUpgrade?
  /// Whether the client knows that the load waited for a network.
  var hasToldOfWaiting = false
  /// Which connection the load gets when several loads wait: 0…1, as `URLSessionTask.priority`.
  package var priority: Float = 0.5
  /// Whether the load is a download, which may be continued later where it is known what its bytes are of.
  package var isDownload = false
  /// How fast the bodies of requests are sent; nil: as fast as connections take them.
  package var bodyPacing: (any BodyPacing)?
  /// The threads on which files are read that are bodies of requests.
  package var bodyFilePool = NIOThreadPool.singleton
  /// The loader that was chosen for the next request ahead of its load; nil for none.
  var protocolChoice: ProtocolChoice?
  /// The place in the queue for a connection, while the load has one.
  var waiter: ConnectionWaiter?

  /// Read on the load's event loop; elsewhere `entry` leads there.
  package var loop: any EventLoop { executor.loop }

  /// The URL that the load begins with, cut into its parts on the thread where the load was made, to spare the loop.
  let originTarget: HTTPTarget?
  /// The key of stored responses to it; nil without a cache.
  let originKey: CacheKey?

  /// A context for one load of `url`, on the loop where connections to its origin live.
  package convenience init(
    for url: URL?, configuration: LoadConfiguration, transport: HTTPTransport, client: any LoadClient,
    anchor: DateAnchor = DateAnchor()
  ) {
    self.init(
      for: url, settings: LoadSettings(configuration), transport: transport, client: client, anchor: anchor)
  }

  /// - Parameter mayBeginInline: Whether the load may begin on the thread of its caller, where it may need no socket.
  init(
    for url: URL?, settings: LoadSettings, transport: HTTPTransport, client: any LoadClient, anchor: DateAnchor,
    mayBeginInline: Bool = false
  ) {
    self.anchor = anchor
    self.settings = settings
    self.transport = transport
    self.client = client
    let place = url.map { settings.place(of: $0.absoluteString) }
    (originTarget, originKey) = (place?.target, place?.key)
    let proxy = settings.configuration.proxies?.hostOfConnections(for: url)
    let given = originTarget.flatMap { target in
      // A load whose connections are elsewhere would take the place of another.
      transport.divides(target.key) && settings.reachesAsWritten(target.key)
        ? transport.share(forLoadOf: target.key) : nil
    }
    share = given?.loads
    host = given?.executor ?? transport.executor(forHost: proxy ?? originTarget?.key.host ?? url?.host)
    let isInline = mayBeginInline && settings.mayNeedNoSocket(originKey)
    executor = isInline ? LoopExecutor(inlineBefore: host) : host
    entry = executor.loop
    control = LoadControl(loop: executor.loop, sweeper: executor.sweeper)
    share?.loadBegan()
  }

  deinit { share?.loadEnded() }

  /// The same load with a control of its own: what waits under it can be given up while the load goes on.
  func withOwnControl() -> LoadContext { LoadContext(of: self) }

  private init(of load: LoadContext) {
    (settings, transport, client, anchor) = (load.settings, load.transport, load.client, load.anchor)
    (originTarget, originKey, host, executor) = (load.originTarget, load.originKey, load.host, load.executor)
    share = nil
    entry = load.executor.loop
    control = LoadControl(loop: load.executor.loop, sweeper: load.executor.sweeper)
  }

  /// A context for another load of the same session.
  func another(for url: URL?, client: any LoadClient) -> LoadContext {
    LoadContext(for: url, settings: settings, transport: transport, client: client, anchor: DateAnchor())
  }

  /// The exchange whose server is told of a change of priority; nil where the app says it itself.
  private var prioritized: (any HTTPExchange)?

  /// The exchange of the newest request; nil where none carries it any more.
  private var carrier: (any HTTPExchange)?

  /// An exchange carries the newest request until `exchangeEnded` is called with it. On the loop.
  ///
  /// References that are not weak: an exchange that was referred to weakly counts its references in a block of its own.
  func use(_ exchange: any HTTPExchange, isPrioritized: Bool) {
    loop.assertInEventLoop()
    carrier = exchange
    prioritized = isPrioritized ? exchange : nil
  }

  /// The exchange has ended. On the loop.
  func exchangeEnded(_ exchange: any HTTPExchange) {
    loop.assertInEventLoop()
    if carrier === exchange { carrier = nil }
    if prioritized === exchange { prioritized = nil }
  }

  /// The connection, or the stream, carries another protocol from now on, with the priority of its request. On the loop.
  func exchangeTakenOver(_ exchange: any HTTPExchange) {
    loop.assertInEventLoop()
    if carrier === exchange { carrier = nil }
  }

  /// The load has ended. On the loop.
  func forgetExchanges() {
    loop.assertInEventLoop()
    (carrier, prioritized) = (nil, nil)
  }

  /// Calls `measured`, on any thread, with the seconds of a round trip over the load's connection; not at all where they are
  /// not known. On the loop.
  package func measureDelay(
    _ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void
  ) {
    loop.assertInEventLoop()
    carrier?.measureDelay(direction, measured)
  }

  /// Has the server send no more than so many bytes ahead, where the connection carries nothing but this load; nil for as many
  /// as the system finds right. On the loop.
  package func limitReceiveWindow(_ bytes: Int?) {
    loop.assertInEventLoop()
    carrier?.limitReceiveWindow(bytes)
  }

  /// Changes the priority, also of a load that waits for a connection or has one. On the loop.
  package func setPriority(_ priority: Float) {
    loop.assertInEventLoop()
    guard priority != self.priority else { return }
    let update = RequestUrgency.update(from: self.priority, to: priority)
    self.priority = priority
    waiter?.setPriority(priority)
    if let update { prioritized?.setPriority(update) }
  }

  /// A record of the run's present hop; nil when none is kept. The loader appends it to `transactions`.
  func makeRecord(of run: PipelineRun, _ fetchType: TransactionRecord.FetchType) -> TransactionRecord? {
    loop.assertInEventLoop()
    // The answer to a handshake is judged by the request that was sent.
    guard upgrade != nil || configuration.observer != nil || client.wantsRecords else { return nil }
    var request = run.request.urlRequest
    request.headerFields = run.fields
    // The loader's own value is a credential; only a value of the app's is shown. For FTP it is the login.
    if run.carried != nil || ["ftp", "ftps"].contains(request.url?.scheme?.lowercased()) {
      request.headerFields.remove("Authorization")
    }
    return TransactionRecord(request: request, fetchType: fetchType, anchor: anchor, on: loop)
  }

  /// Whether the load is still on the thread of its caller.
  var isInline: Bool { executor !== host }

  /// Goes on with `action` on the event loop of the connections, before everything else that the load was told. The caller
  /// does nothing more with the load.
  func moveToHost(_ action: @escaping () -> Void) {
    loop.assertInEventLoop()
    guard isInline, let inline = loop as? InlineEventLoop else { return action() }
    nonisolated(unsafe) let action = action
    inline.move {
      self.executor = self.host
      action()
    }
  }

  /// Runs `body` as a Swift task whose every step is on the load's event loop.
  @discardableResult
  package func start(_ body: @escaping @Sendable (LoadContext) async -> Void) -> Task<Void, Never> {
    assert(!isInline, "a Swift task would take the thread of the load's caller")
    return Task(executorPreference: executor) { await body(self) }
  }
}
