import Foundation
import Synchronization
import TransferProtocol
import URLLoadingSystem

/// Runs the live view: keys, signals and what the service tells go through one stream, and one task draws.
final class TopView: Sendable {
  private enum Event: Sendable {
    case status(TransferStatus)
    case transfers([TransferStatus])
    case absent(String, isRunning: Bool = true)
    case said(String)
    case typed([UInt8])
    case resized
    case ticked
    case ended(CommandStatus)
  }

  private let terminal: FullScreenTerminal
  private let records: RecordStore
  private let started = ContinuousClock.now
  private let connection = Mutex<ServiceConnection?>(nil)

  private static let drawingInterval = Duration.milliseconds(250)

  init(_ terminal: FullScreenTerminal, records: RecordStore) {
    self.terminal = terminal
    self.records = records
  }

  /// Returns when the user has left it.
  ///
  /// - Throws: `CommandStatus` after a signal.
  func run() async throws {
    let (events, feed) = AsyncStream.makeStream(of: Event.self)
    let sources = TopView.listen(feed)
    defer { for source in sources { source.cancel() } }
    let following = Task { await follow(feed) }
    let ticking = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: TopView.drawingInterval)
        feed.yield(.ticked)
      }
    }
    defer {
      following.cancel()
      ticking.cancel()
      connection.withLock { $0?.close() }
    }
    var model = TopModel()
    model.serviceIsAbsent("Connecting to the transfer service…", isRunning: true)
    for await event in events {
      let time = (ContinuousClock.now - started) / .seconds(1)
      switch event {
      case .status(let status):
        model.update(TransferReport(status, in: records), at: time)
        continue
      case .transfers(let statuses):
        model.serviceAnswers()
        model.replace(statuses.map { TransferReport($0, in: records) }, at: time)
      case .absent(let reason, let isRunning): model.serviceIsAbsent(reason, isRunning: isRunning)
      case .said(let text): model.message = text
      case .typed(let bytes):
        for key in TopKey.keys(in: bytes) {
          guard let action = model.handle(key, page: TopScreen.page(terminal.size)) else { continue }
          if action == .quit { return }
          perform(action, feed)
        }
      case .resized: break
      case .ticked: model.timePassed(to: time)
      case .ended(let status): throw status
      }
      terminal.draw(TopScreen.lines(model, size: terminal.size))
    }
  }

  private static func listen(_ feed: AsyncStream<Event>.Continuation) -> [any DispatchSourceProtocol] {
    let queue = DispatchQueue(label: "urlsession.top")
    let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
    keys.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = read(STDIN_FILENO, &bytes, bytes.count)
      // The terminal is gone.
      if count > 0 { feed.yield(.typed(Array(bytes.prefix(count)))) } else { feed.yield(.ended(.terminated)) }
    }
    let signals: [(Int32, Event)] = [
      (SIGWINCH, .resized), (SIGINT, .ended(.interrupted)), (SIGTERM, .ended(.terminated)),
      (SIGHUP, .ended(.terminated)),
    ]
    let sources: [any DispatchSourceSignal] = signals.map { number, event in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { feed.yield(event) }
      return source
    }
    for source in sources { source.resume() }
    keys.resume()
    return sources + [keys]
  }

  // MARK: The service

  /// Connects again whenever the connection has ended. The service is not started for a look at it.
  private func follow(_ feed: AsyncStream<Event>.Continuation) async {
    while !Task.isCancelled {
      do {
        try await followConnection(feed)
      } catch {
        feed.yield(.absent(CommandFailure.service(error).line))
      }
      connection.withLock { $0 = nil }
      try? await Task.sleep(for: .seconds(1))
    }
  }

  private func followConnection(_ feed: AsyncStream<Event>.Continuation) async throws {
    var opened: ServiceConnection?
    defer { opened?.close() }
    let watched: WatchedTransfers
    do {
      watched = try await WatchedTransfers(includesFinished: false) { service in
        opened = service
        connection.withLock { $0 = service }
      }
    } catch let error as ServiceUnavailable where error.isNotRunning {
      let reason = "The transfer service does not run: there is nothing to do, or it waits for an app."
      feed.yield(.absent(reason, isRunning: false))
      return
    }
    feed.yield(.transfers(watched.transfers))
    for await status in watched.changes { feed.yield(.status(status)) }
    feed.yield(.absent("The transfer service has ended; waiting for the next one…"))
  }

  private func perform(_ action: TopModel.Action, _ feed: AsyncStream<Event>.Continuation) {
    let request: ClientRequest
    switch action {
    case .pause(let id): request = .holdTransfer(TransferReference(transfer: id))
    case .resume(let id): request = .releaseTransfer(TransferReference(transfer: id))
    case .retry(let id): request = .retryTransfer(TransferReference(transfer: id))
    case .cancel(let id): request = .cancelTransfer(TransferReference(transfer: id))
    case .limit(let id, let limit): request = .limit(LimitTransfers(subject: .transfer(id), limit: limit))
    case .quit: return
    }
    guard let service = connection.withLock({ $0 }) else {
      feed.yield(.said("The transfer service does not run."))
      return
    }
    Task {
      do {
        _ = try await service.request(request)
        if case .limit(let id, let limit) = action { feed.yield(.said("Transfer \(id): \(LimitText.text(limit))")) }
      } catch {
        feed.yield(.said((error as? Refusal)?.message ?? CommandFailure.service(error).line))
      }
    }
  }
}
