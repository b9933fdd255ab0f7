import NIOCore

/// A result that is set once and awaited by at most one waiter. Confined to its event loop.
///
/// The first `succeed` or `fail` counts; later ones have no effect. A result that is set before it is awaited is kept.
package final class LoopResult<Value: Sendable>: @unchecked Sendable {
  private let loop: any EventLoop
  private var result: Result<Value, any Error>?
  private var waiter: UnsafeContinuation<Value, any Error>?

  package init(on loop: any EventLoop) { self.loop = loop }

  package var isSet: Bool {
    loop.assertInEventLoop()
    return result != nil
  }

  package func succeed(_ value: Value) { set(.success(value)) }

  package func fail(_ error: any Error) { set(.failure(error)) }

  package func set(_ result: Result<Value, any Error>) {
    loop.assertInEventLoop()
    guard self.result == nil else { return }
    self.result = result
    let waiter = self.waiter
    self.waiter = nil
    waiter?.resume(with: result)
  }

  /// Waits until the result is set. Called once.
  package func get() async throws -> Value {
    loop.assertInEventLoop()
    if let result { return try result.get() }
    return try await withUnsafeThrowingContinuation { waiter = $0 }
  }
}

extension LoopResult where Value == Void {
  package func succeed() { set(.success(())) }
}
