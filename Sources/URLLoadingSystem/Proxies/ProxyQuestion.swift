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
    let answer = LoopResult<Answer>(on: context.loop)
    listen(to: future, on: context.loop, answer)
    return try await context.control.abortable(onAbort: { answer.fail($0) }) { try await answer.get() }
  }

  private static func listen<Answer: Sendable>(
    to future: EventLoopFuture<Answer>, on loop: any EventLoop, _ answer: LoopResult<Answer>
  ) {
    future.hop(to: loop).assumeIsolated().whenComplete { answer.set($0) }
  }
}
