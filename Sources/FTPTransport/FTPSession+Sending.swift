import HTTPSemantics
import HTTPTransport
import NIOCore

extension FTPSession {
  /// Sends bytes of a file. Returns when the kernel has taken them.
  package func write(_ bytes: ByteBuffer) async throws {
    executor.loop.assertInEventLoop()
    guard let data, !isConfirmed else {
      throw TransportError.connectionLost(reason: "the FTP server ended the transfer before all was sent")
    }
    do { try await data.write(bytes) } catch { throw await explained(error, as: .storage) }
    written += Int64(bytes.readableBytes)
    onProgress()
  }

  /// All bytes are written: tells the server so, and waits for its word that it has them.
  package func finishWriting() async throws {
    executor.loop.assertInEventLoop()
    guard let data else { throw TransportError.shutDown }
    // RFC 959 §3.4: the end of the file is the end of the connection.
    data.end(sending: nil, patience: .seconds(30))
    self.data = nil
    try await hearEnd()
    responseEnd = .now()
  }

  /// A server that closes the data connection says why over the other one. Waits for that, and not for long.
  func explained(_ error: any Error, as question: FTPFailure.Question) async -> any Error {
    data?.close()
    guard let control = control?.control, !isConfirmed, !isClosed else { return error }
    let limit = closeLater(control)
    defer { limit.cancel() }
    let reply = if let ending { try? await ending.value } else { try? await control.finalReply() }
    guard let reply, !reply.isCompletion else { return error }
    return FTPFailure(reply, to: question)
  }

  private func closeLater(_ control: FTPControl) -> Scheduled<Void> {
    executor.loop.assumeIsolated().scheduleTask(in: .seconds(3)) { control.close() }
  }
}
