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
  private(set) var folder: [FTPCommand] = []
  /// The type that was set last.
  var type: FTPCommand?
  /// Whether the server was told an offset (REST) that no transfer has used, and might use it for the next one.
  var hasUnusedOffset = false
  /// The extensions that the server knows; nil until it was asked.
  var features: FTPFeatures?
  /// Whether the server has said something before it was its turn: its next reply may answer an earlier command.
  var isOutOfStep = false
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
    loop.assertInEventLoop()
    isInputOver = true
    onEnd()
  }

  /// Whether another session may go on with it.
  var isReusable: Bool {
    loop.assertInEventLoop()
    return isLoggedIn && control.isAtRest && !isInputOver && !hasUnusedOffset && !isOutOfStep
  }

  /// How long a server may take to say that it still listens. A new connection is then the quicker way.
  private static let patience = TimeAmount.seconds(5)

  /// Asks whether the server still listens (NOOP, RFC 959 §4.1.3). The connection is closed when it does not answer in
  /// time.
  func isAlive(within limit: TimeAmount = FTPConnection.patience) async -> Bool {
    loop.assertInEventLoop()
    guard isReusable else { return false }
    let timer = closeLater(limit)
    defer { timer.cancel() }
    guard let reply = try? await control.ask(FTPCommand("NOOP")), isReusable else { return false }
    // A server that does not know the command is there too. Another reply answers an earlier command, and all that
    // follow would be one command late.
    return [200, 500, 502].contains(reply.code)
  }

  private func closeLater(_ limit: TimeAmount) -> Scheduled<Void> {
    loop.assumeIsolated().scheduleTask(in: limit) { self.control.close() }
  }

  /// Whether the folder at the end of `steps` can be reached from where it is.
  func leads(to steps: [FTPCommand]) -> Bool {
    loop.assertInEventLoop()
    return steps.starts(with: folder) || steps.first.map { FTPConnection.isFromRoot($0) } ?? false
  }

  /// The steps from the present folder. What is left out was done for an earlier session.
  func remaining(of steps: [FTPCommand]) -> ArraySlice<FTPCommand> {
    loop.assertInEventLoop()
    return steps.starts(with: folder) ? steps.dropFirst(folder.count) : steps[...]
  }

  /// The server has changed to the folder of `step`. One that it refuses leaves it where it is.
  func entered(_ step: FTPCommand) {
    loop.assertInEventLoop()
    if FTPConnection.isFromRoot(step) { folder = [] }
    folder.append(step)
  }

  private static func isFromRoot(_ step: FTPCommand) -> Bool { step.argument?.first == UInt8(ascii: "/") }

  func quit() {
    loop.assertInEventLoop()
    onEnd = {}
    control.quit()
  }

  func close() {
    loop.assertInEventLoop()
    onEnd = {}
    control.close()
  }
}
