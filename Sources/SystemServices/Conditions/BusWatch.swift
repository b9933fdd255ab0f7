import Dispatch
import Foundation

/// A connection to a message bus that is subscribed to something. Used on one queue.
protocol WatchedBus: AnyObject, SendableMetatype {
  /// nil where there is no bus.
  init?(address: String?)
  /// Readable when the bus has something to tell. The bus may close it at any time.
  var descriptor: Int32 { get }
  func subscribe()
}

/// Is connected to a message bus while that is wanted, and connects again to one that has ended. A machine without a bus is not
/// asked again. Confined to its queue.
final class BusWatch<Bus: WatchedBus>: @unchecked Sendable {
  /// The result of one look at the bus.
  enum Look {
    case something, nothing
    /// The bus has ended.
    case gone
  }

  struct Handlers {
    /// Called with the bus once it is subscribed; with nil where there is none, or where it has ended.
    let connected: (Bus?) -> Void
    /// Takes the news of the bus.
    let look: (Bus) -> Look
  }

  private let queue: DispatchQueue
  private let address: String?
  private let later: (@escaping @Sendable () -> Void) -> Void
  private let handlers: Handlers
  private var isWanted = false
  private var hadBus = false
  private var isPlanned = false
  private var bus: Bus?
  private var source: (any DispatchSourceRead)?

  /// - Parameters:
  ///   - address: where the bus listens; nil for the system's.
  ///   - later: calls on the queue when a bus that has ended is to be tried again; nil: after 30 seconds.
  init(
    on queue: DispatchQueue, address: String?, _ handlers: Handlers,
    later: ((@escaping @Sendable () -> Void) -> Void)? = nil
  ) {
    (self.queue, self.address, self.handlers) = (queue, address, handlers)
    self.later = later ?? { queue.asyncAfter(deadline: .now() + 30, execute: $0) }
  }

  func start() {
    dispatchPrecondition(condition: .onQueue(queue))
    isWanted = true
    connect()
  }

  func stop() {
    dispatchPrecondition(condition: .onQueue(queue))
    isWanted = false
    disconnect()
  }

  private func connect() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isWanted, source == nil else { return }
    guard let bus = Bus(address: address) else {
      if hadBus { connectLater() }
      return handlers.connected(nil)
    }
    hadBus = true
    // sd-bus closes its own as soon as the connection ends, when the source still looks at it: Dispatch would go on with memory that it
    // has freed.
    let descriptor = fcntl(bus.descriptor, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else {
      connectLater()
      return handlers.connected(nil)
    }
    self.bus = bus
    // Before the first reading, so that no change is missed between the two.
    bus.subscribe()
    let source = StreamReadSource.make(descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.look() }
    self.source = source
    source.resume()
    handlers.connected(bus)
    // The answers may have come with messages behind them, of which the descriptor tells no more.
    look()
  }

  private func connectLater() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !isPlanned else { return }
    isPlanned = true
    later { [weak self] in
      self?.isPlanned = false
      self?.connect()
    }
  }

  private func disconnect() {
    dispatchPrecondition(condition: .onQueue(queue))
    source?.cancel()
    (source, bus) = (nil, nil)
  }

  private func look() {
    dispatchPrecondition(condition: .onQueue(queue))
    while let bus {
      switch handlers.look(bus) {
      case .something: break
      case .nothing: return
      case .gone:
        disconnect()
        handlers.connected(nil)
        connectLater()
      }
    }
  }
}
