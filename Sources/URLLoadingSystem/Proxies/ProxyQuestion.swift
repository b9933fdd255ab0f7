import HTTPSemantics
import HTTPTransport
import NIOCore

/// A wait for an answer that another thread is working on, which ends early when the load is aborted.
enum ProxyQuestion {
  /// Runs `find` on a thread that may block. The first of its answer and the load's abort counts.
  static func ask<Answer: Sendable>(
    in context: LoadContext, _ find: @escaping @Sendable () throws -> Answer
  ) async throws -> Answer {
    let loop = context.loop
    return try await wait(for: BlockingWork.proxies.runIfActive(eventLoop: loop, find), in: context)
  }

  static func wait<Answer: Sendable>(
    for future: EventLoopFuture<Answer>, in context: LoadContext
  ) async throws -> Answer {
    let once = Once<Answer>()
    once.listen(to: future, on: context.loop)
    return try await context.control.abortable(onAbort: { once.complete(.failure($0)) }) { try await once.value() }
  }

  /// Confined to the load's loop.
  private final class Once<Answer: Sendable>: @unchecked Sendable {
    private var result: Result<Answer, any Error>?
    private var waiter: UnsafeContinuation<Answer, any Error>?

    func listen(to future: EventLoopFuture<Answer>, on loop: any EventLoop) {
      future.hop(to: loop).assumeIsolated().whenComplete { self.complete($0) }
    }

    func value() async throws -> Answer {
      if let result { return try result.get() }
      return try await withUnsafeThrowingContinuation { waiter = $0 }
    }

    func complete(_ outcome: Result<Answer, any Error>) {
      guard result == nil else { return }
      result = outcome
      let waiter = self.waiter
      self.waiter = nil
      waiter?.resume(with: outcome)
    }
  }
}
