import NIOCore

/// Carries bytes between two streams, both ways, until both sides are closed. Confined to its loop.
package final class StreamRelay: @unchecked Sendable {
  private let local: any DuplexStream
  private let remote: any DuplexStream
  private var outwardIsOver = false
  private var isAbandoned = false
  private let loop: any EventLoop

  private static let patience = TimeAmount.seconds(3)

  package init(_ local: any DuplexStream, _ remote: any DuplexStream, on loop: any EventLoop) {
    self.loop = loop
    self.local = local
    self.remote = remote
  }

  /// - Parameters:
  ///   - first: What was read from `remote` before.
  ///   - onFailure: Told why `remote` failed, before the local side sees its end.
  package func run(first: ByteBuffer, on executor: LoopExecutor, onFailure: @Sendable (any Error) -> Void) async {
    loop.assertInEventLoop()
    let outward = Task(executorPreference: executor) { await self.carryOutward() }
    if let failure = await carryInward(first) {
      onFailure(failure)
      local.close()
    }
    await outward.value
    remote.end(sending: nil, patience: StreamRelay.patience)
    local.close()
  }

  /// The local side is no longer used: what was written to it still goes out, then the connection is closed.
  package func abandon() {
    loop.assertInEventLoop()
    isAbandoned = true
    if outwardIsOver { remote.end(sending: nil, patience: StreamRelay.patience) }
  }

  private func carryOutward() async {
    do {
      while let bytes = try await local.read() { try await remote.write(bytes) }
      try await remote.closeWrite()
    } catch {
      // The other direction meets the same end, and tells.
      remote.close()
    }
    outwardIsOver = true
    if isAbandoned { abandon() }
  }

  private func carryInward(_ first: ByteBuffer) async -> (any Error)? {
    do { if first.readableBytes > 0 { try await local.write(first) } } catch { return nil }
    while true {
      let bytes: ByteBuffer?
      do { bytes = try await remote.read() } catch { return error }
      do {
        guard let bytes else {
          try await local.closeWrite()
          return nil
        }
        try await local.write(bytes)
      } catch {
        // The app reads no more: what the server still sends is discarded.
        return nil
      }
    }
  }
}
