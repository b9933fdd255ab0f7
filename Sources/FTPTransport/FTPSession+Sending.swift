import HTTPSemantics
import HTTPTransport
import NIOCore

extension FTPSession {
  /// Sends bytes of a file. Returns when the kernel has taken them.
  package func write(_ bytes: ByteBuffer) async throws {
    executor.loop.assertInEventLoop()
    if let earlyEnd { throw earlyEnd }
    guard let data else { throw TransportError.shutDown }
    do { try await data.write(bytes) } catch { throw await explained(error, as: .storage) }
    written += Int64(bytes.readableBytes)
    onProgress()
  }

  /// All bytes are written: tells the server so, and waits for its word that it has them.
  package func finishWriting() async throws {
    executor.loop.assertInEventLoop()
    // A reply that has come already is seen.
    await executor.turn()
    if let earlyEnd { throw earlyEnd }
    guard let data else { throw TransportError.shutDown }
    // RFC 959 §3.4: the end of the file is the end of the connection.
    data.end(sending: nil, patience: .seconds(30))
    self.data = nil
    try await hearEnd()
    responseEnd = .now()
  }

  /// Listens to the server while the data goes. A reply that comes before all was sent, and its end shown by the end of
  /// the connection, is no success whatever its code: the server can't know that it has all (RFC 959 §3.4).
  func listenWhileSending() {
    guard let control = control?.control else { return }
    let ending = self.ending ?? Task(executorPreference: executor) { try await self.heard(control) }
    self.ending = ending
    Task(executorPreference: executor) {
      guard let reply = try? await ending.value, let data = self.data else { return }
      self.earlyEnd = reply.isCompletion ? self.endedEarly(reply) : FTPFailure(reply, to: .storage)
      // A write that waits ends.
      data.close()
    }
  }

  /// The failure of a transfer that the server said to be complete before it was.
  func endedEarly(_ reply: FTPReply) -> FTPFailure {
    control?.isOutOfStep = true
    return .endedEarly(reply)
  }

  /// A server that closes the data connection says why over the other one. Waits for that, and not for long.
  func explained(_ error: any Error, as question: FTPFailure.Question) async -> any Error {
    data?.close()
    guard let control = control?.control, !isConfirmed, !isClosed else { return error }
    let limit = closeLater(control)
    defer { limit.cancel() }
    let reply = if let ending { try? await ending.value } else { try? await control.finalReply() }
    guard let reply else { return error }
    guard reply.isCompletion else { return FTPFailure(reply, to: question) }
    return question == .storage ? endedEarly(reply) : error
  }

  private func closeLater(_ control: FTPControl) -> Scheduled<Void> {
    executor.loop.assumeIsolated().scheduleTask(in: .seconds(3)) { control.close() }
  }
}
