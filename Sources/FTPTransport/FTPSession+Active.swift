import HTTPSemantics
import HTTPTransport
import NIOCore

extension FTPSession {
  /// Lets the server connect to this machine (EPRT, RFC 2428; PORT where it does not know that), and asks for the data.
  ///
  /// The port is open where the control connection is, for the server's address alone, until the server has come. A server
  /// that can't come says so when it is asked, or later; what it says is listened to all the while. nil: it has said that
  /// all was sent, and has not come.
  func receiveData(
    by command: FTPCommand, _ question: FTPFailure.Question, _ control: FTPControl
  ) async throws -> (any DuplexStream)? {
    guard let local = connection?.localAddress, let remote = connection?.remoteAddress, let text = local.ipAddress,
      let address = IPAddressText(text)
    else { throw TransportError.connectionLost(reason: "the control connection has no address any more") }
    let listener = try await StreamListener.open(at: local, for: remote, on: executor)
    self.listener = listener
    defer { self.listener = nil }
    do {
      guard !isClosed else { throw TransportError.shutDown }
      var reply = try await ask(.extendedPort(address, text, listener.port), control)
      if (500..<600).contains(reply.code), reply.code != 530, let port = FTPCommand.port(address, listener.port) {
        reply = try await ask(port, control)
      }
      guard reply.isCompletion else { throw FTPFailure(reply, to: .other("EPRT")) }
      try await begin(command, question, control)
      if isConfirmed {
        endSoon(unlessConnected: listener)
      } else {
        ending = listen(to: control, unless: listener)
      }
      let stream = try await listener.stream()
      dataConnectionIsMade()
      // Closed while it was on its way.
      guard !isClosed else {
        stream.close()
        throw TransportError.shutDown
      }
      return stream
    } catch is NoDataConnection {
      guard !isClosed else { throw TransportError.shutDown }
      return nil
    } catch {
      listener.abort(error)
      throw error
    }
  }

  private func listen(to control: FTPControl, unless listener: StreamListener) -> Task<FTPReply, any Error> {
    Task(executorPreference: executor) {
      do {
        let reply = try await control.finalReply()
        if reply.isCompletion {
          // All may have been sent before the connection is seen here.
          self.endSoon(unlessConnected: listener)
        } else {
          listener.abort(FTPFailure(reply, to: .end))
        }
        return reply
      } catch {
        listener.abort(error)
        throw error
      }
    }
  }
}
