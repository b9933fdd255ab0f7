import NIOCore

extension HTTPTransport {
  /// Begins to connect to `key`, for another protocol than HTTP: outside the pools. On the loop of
  /// `executor`.
  package func connect(to key: ConnectionKey, on executor: LoopExecutor) -> StreamConnecting {
    StreamConnecting(connector: Connector(loop: executor.loop, tls: tls, configuration), key: key)
  }
}
