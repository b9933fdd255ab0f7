import NIOCore

/// One connection that is being made for another protocol than HTTP. Confined to its loop.
package final class StreamConnecting: @unchecked Sendable {
  private let loop: any EventLoop
  private var attempt: ConnectionAttempt?
  private let result: LoopResult<any DuplexStream>
  private var outcome: ConnectionRecord?

  init(connector: Connector, key: ConnectionKey) {
    loop = connector.loop
    result = LoopResult(on: connector.loop)
    attempt = connector.connect(to: key, isForHTTP: false) { result in
      switch result {
      case .success(let established):
        self.outcome = established.record
        self.settle(Result { try StreamConnecting.stream(established) })
      case .failure(let failure):
        self.outcome = failure.record
        self.settle(.failure(failure.cause))
      }
    }
    if result.isSet { attempt = nil }
  }

  /// The record of the connection; nil until it is made or has failed.
  package var record: ConnectionRecord? {
    loop.assertInEventLoop()
    return outcome
  }

  private static func stream(_ established: EstablishedConnection) throws -> SocketStream {
    // The server may close its side and still listen.
    try? established.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    let early = established.earlyBytes
    let stream = SocketStream(channel: established.channel, input: ReadAheadQueue(early))
    try stream.activate()
    return stream
  }

  /// Waits for the connection. Call once.
  package func stream() async throws -> any DuplexStream { try await result.get() }

  /// Gives the connection up; `stream()` throws `error`.
  package func abort(_ error: any Error) {
    loop.assertInEventLoop()
    let attempt = self.attempt
    // First: the attempt has an error of its own when it is given up.
    settle(.failure(error))
    attempt?.giveUp()
  }

  private func settle(_ outcome: Result<SocketStream, any Error>) {
    loop.assertInEventLoop()
    attempt = nil
    if result.isSet, case .success(let stream) = outcome { stream.close() }
    result.set(outcome.map { $0 as any DuplexStream })
  }
}
