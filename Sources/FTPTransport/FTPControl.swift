import HTTPSemantics
import HTTPTransport
import NIOCore

/// The control connection of FTP (RFC 959 §3.1): commands out, replies in, one at a time. Confined to its loop.
final class FTPControl: @unchecked Sendable {
  private let stream: any DuplexStream
  private let loop: any EventLoop
  private var reader = FTPReplyReader()
  private(set) var bytesSent: Int64 = 0
  private(set) var bytesReceived: Int64 = 0
  /// Replies that are still to come: first of all the greeting.
  private var expectedReplies = 1
  private var isFailed = false

  init(_ stream: any DuplexStream, on loop: any EventLoop) {
    self.stream = stream
    self.loop = loop
  }

  /// Whether every command was answered, and another one may be sent. A reply that answers nothing would be taken for the
  /// answer to the next command.
  var isAtRest: Bool {
    loop.assertInEventLoop()
    return expectedReplies == 0 && !isFailed && !reader.hasInput && !stream.hasUnreadInput
  }

  /// Makes the connection a TLS connection (RFC 4217 §4). Bytes that came unprotected are not taken for protected ones.
  func startTLS(_ terms: TLSTerms) async throws {
    loop.assertInEventLoop()
    guard !reader.hasInput else {
      throw TransportError.tlsHandshakeFailed(.other("the server sent bytes before the handshake that were not read"))
    }
    do { try await stream.startTLS(terms) } catch {
      isFailed = true
      throw error
    }
  }

  /// Sends `command` and waits for the reply to it.
  func ask(_ command: FTPCommand) async throws -> FTPReply {
    try await send(command)
    return try await reply()
  }

  /// The same for the password of a login, of which no copy of this process stays behind.
  func askPassword(of login: FTPLogin) async throws -> FTPReply {
    loop.assertInEventLoop()
    let line = login.withPassword { password in
      // With all its room from the start: a buffer that grows leaves its bytes where they were.
      var line = ByteBuffer()
      line.reserveCapacity(FTPLogin.passwordVerb.utf8.count + password.count + 3)
      line.writeString(FTPLogin.passwordVerb + " ")
      line.writeBytes(password)
      line.writeString("\r\n")
      return line
    }
    do {
      defer { line.overwriteStorage() }
      try await write(line)
    }
    return try await reply()
  }

  func send(_ command: FTPCommand) async throws {
    loop.assertInEventLoop()
    guard let line = command.line else {
      throw TransportError.invalidRequest(reason: "an FTP command with a line end in it")
    }
    try await write(ByteBuffer(bytes: line))
  }

  private func write(_ line: ByteBuffer) async throws {
    bytesSent += Int64(line.readableBytes)
    expectedReplies += 1
    do { try await stream.write(line) } catch {
      isFailed = true
      throw error
    }
  }

  /// The next reply, preliminary ones included.
  func reply() async throws -> FTPReply {
    loop.assertInEventLoop()
    while true {
      do throws(FTPReplyReader.Malformation) {
        if let reply = try reader.next() {
          if !reply.isPreliminary { expectedReplies -= 1 }
          if reply.code == 421 { isFailed = true }
          return reply
        }
      } catch {
        isFailed = true
        throw FTPFailure.malformed(error)
      }
      guard let bytes = try await stream.read() else {
        isFailed = true
        throw TransportError.connectionLost(reason: "the FTP server closed its control connection")
      }
      bytesReceived += Int64(bytes.readableBytes)
      reader.append(bytes.readableBytesView)
    }
  }

  /// The next reply that is not preliminary. A server that announces and announces does nothing else.
  func finalReply() async throws -> FTPReply {
    for _ in 0..<FTPControl.mostAnnouncements {
      let reply = try await self.reply()
      if !reply.isPreliminary { return reply }
    }
    throw TransportError.malformedResponse(reason: "the FTP server only ever says that more is to come")
  }

  private static let mostAnnouncements = 16

  /// RFC 959 §4.1.1: sends QUIT, and does not wait for the reply.
  func quit() {
    loop.assertInEventLoop()
    stream.end(sending: ByteBuffer(bytes: FTPCommand("QUIT").line ?? []), patience: .seconds(3))
  }

  func close() {
    loop.assertInEventLoop()
    stream.close()
  }
}
