import HTTPSemantics
import NIOCore

/// An exchange whose connection lives on another loop than the load: every step hops there and back. Confined to the
/// load's loop.
final class RemoteExchange: HTTPExchange, @unchecked Sendable {
  private let exchange: any HTTPExchange
  /// The loop of the connection.
  private let executor: LoopExecutor
  /// The loop of the load.
  private let home: LoopExecutor
  private(set) var record: ExchangeRecord
  private(set) var trailers: HTTPFields?

  /// The kind of part that the last pull asked for, and the parts that have come since.
  private var wanted = Wanted.head
  private var head: Result<HTTPResponseHead, any Error>?
  private var body: Result<ResponseBodyPart, any Error>?
  /// The end of the body has come: every further pull is told of it, as by the exchange itself.
  private var isBodyOver = false
  /// Why the request could not be sent.
  private var sendFailure: (any Error)?

  private enum Wanted { case head, body }

  init(_ exchange: any HTTPExchange, executor: LoopExecutor, home: LoopExecutor) {
    self.exchange = exchange
    self.executor = executor
    self.home = home
    record = exchange.record
  }

  private func remotely<Value: Sendable>(
    _ step: @escaping @Sendable (any HTTPExchange) async throws -> Value
  ) async throws -> Value {
    let exchange = self.exchange
    let (result, record, trailers) = await executor.run {
      let result: Result<Value, any Error>
      do { result = .success(try await step(exchange)) } catch { result = .failure(error) }
      return (result, exchange.record, exchange.trailers)
    }
    home.loop.assertInEventLoop()
    self.record = record
    self.trailers = trailers
    return try result.get()
  }

  /// A failure to send is told by the next pull.
  func send(head: HTTPRequestHead, body: RequestBodyFraming) {
    home.loop.assertInEventLoop()
    let exchange = self.exchange
    executor.loop.execute {
      do { try exchange.send(head: head, body: body) } catch {
        self.home.loop.execute { self.sendFailure = error }
        exchange.abort(error)
      }
    }
  }

  func write(_ bytes: ByteBuffer) async throws { try await remotely { try await $0.write(bytes) } }

  func finish(trailers: HTTPFields?) async throws { try await remotely { try await $0.finish(trailers: trailers) } }

  func takeHead() throws -> HTTPResponseHead? {
    home.loop.assertInEventLoop()
    if let sendFailure { throw sendFailure }
    wanted = .head
    defer { head = nil }
    return try head?.get()
  }

  func takeBody() throws -> ResponseBodyPart? {
    home.loop.assertInEventLoop()
    if let sendFailure { throw sendFailure }
    wanted = .body
    if isBodyOver { return .end }
    defer { body = nil }
    return try body?.get()
  }

  func whenReadable(_ action: @escaping () -> Void) {
    home.loop.assertInEventLoop()
    let ready = LoopAction(on: home.loop, action)
    let wanted = self.wanted
    Task(executorPreference: home) {
      switch wanted {
      case .head:
        do { self.head = .success(try await self.remotely { try await $0.nextHead() }) } catch {
          self.head = .failure(error)
        }
      case .body:
        do {
          let bytes = try await self.remotely { try await $0.nextChunk() }
          if bytes == nil { self.isBodyOver = true }
          self.body = .success(bytes.map { .bytes($0) } ?? .end)
        } catch { self.body = .failure(error) }
      }
      ready.run()
    }
  }

  func protocolChange() async throws -> ProtocolChange { try await remotely { try await $0.protocolChange() } }

  func reserveConnection() async -> ConnectionReservation? { try? await remotely { await $0.reserveConnection() } }

  func takeOver() async throws -> any DuplexStream {
    RemoteStream(try await remotely { try await $0.takeOver() }, executor: executor)
  }

  func setPriority(_ value: String) {
    let exchange = self.exchange
    executor.loop.execute { exchange.setPriority(value) }
  }

  func lookAtSending(_ moved: @escaping () -> Void) {
    home.loop.assertInEventLoop()
    let (exchange, home) = (self.exchange, self.home)
    let moved = LoopAction(on: home.loop, moved)
    executor.loop.execute { exchange.lookAtSending { home.loop.execute { moved.run() } } }
  }

  /// `measured` is called on the loop of the connection.
  func measureDelay(_ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void) {
    let exchange = self.exchange
    executor.loop.execute { exchange.measureDelay(direction, measured) }
  }

  func limitReceiveWindow(_ bytes: Int?) {
    let exchange = self.exchange
    executor.loop.execute { exchange.limitReceiveWindow(bytes) }
  }

  func abort(_ error: any Error) {
    let exchange = self.exchange
    executor.loop.execute { exchange.abort(error) }
  }

  func end() {
    let exchange = self.exchange
    executor.loop.execute { exchange.end() }
  }
}
