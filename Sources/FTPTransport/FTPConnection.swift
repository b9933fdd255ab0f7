import HTTPSemantics
import HTTPTransport
import NIOCore

/// A control connection, and what the server was told over it. Serves one session after another. Confined to its loop.
final class FTPConnection: @unchecked Sendable {
  let control: FTPControl
  /// How it was made.
  var record: ConnectionRecord?
  let handshake: FTPHandshake
  /// Common to the TLS sessions of this connection and of its data connections.
  let conversation = "ftp-\(UInt64.random(in: .min ... .max))"
  /// Whether the server has accepted a login.
  var isLoggedIn = false
  /// The way from the login's folder to the present one.
  var folder: [FTPCommand] = []
  /// The type that was set last.
  var type: FTPCommand?
  private(set) var isInputOver = false
  private let loop: any EventLoop
  /// Called when the server has closed the connection.
  var onEnd: () -> Void = {}

  init(_ stream: any DuplexStream, _ record: ConnectionRecord?, on loop: any EventLoop) {
    self.loop = loop
    self.record = record
    control = FTPControl(stream, on: loop)
    handshake = FTPHandshake(on: loop)
    let end = LoopAction(on: loop) { [weak self] in self?.inputEnded() }
    stream.whenInputEnds { end.run() }
  }

  private func inputEnded() {
    isInputOver = true
    onEnd()
  }

  /// Whether another session may go on with it.
  var isReusable: Bool { isLoggedIn && control.isAtRest && !isInputOver }

  /// Asks whether the server still listens (NOOP, RFC 959 §4.1.3).
  func isAlive() async -> Bool {
    loop.assertInEventLoop()
    guard isReusable else { return false }
    let reply = try? await control.ask(FTPCommand("NOOP"))
    // A server that does not know the command is there too.
    return reply.map { $0.code != 421 && $0.code != 530 } ?? false
  }

  /// Whether the folder at the end of `steps` can be reached from where it is.
  func leads(to steps: [FTPCommand]) -> Bool {
    steps.starts(with: folder) || steps.first?.argument?.first == UInt8(ascii: "/")
  }

  /// The steps from the present folder. What is left out was done for an earlier session.
  func remaining(of steps: [FTPCommand]) -> ArraySlice<FTPCommand> {
    if steps.starts(with: folder) { return steps.dropFirst(folder.count) }
    folder = []
    return steps[...]
  }

  func quit() {
    onEnd = {}
    control.quit()
  }

  func close() {
    onEnd = {}
    control.close()
  }
}
