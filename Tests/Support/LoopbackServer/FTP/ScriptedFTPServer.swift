import NIOCore
import NIOPosix

/// What an FTP server of a test says. Everything has an answer that lets a client go on.
package struct FTPScript: Sendable {
  package var greeting = "220 ready\r\n"
  /// What RETR sends, by the name that the client gives.
  package var files: [String: [UInt8]] = [:]
  /// The users who are let in, with their passwords; nil: every user is.
  package var users: [String: String]?
  /// What LIST and NLST send.
  package var listing = "-rw-r--r-- 1 ftp ftp 6 Jan 01 2020 a.txt\r\n"
  /// What is said to commands of these verbs instead. Empty: nothing, for ever.
  package var answers: [String: String] = [:]
  /// What is said when the data has been sent. Empty: the control connection is closed.
  package var ending = "226 sent\r\n"
  /// How much of the data is sent before its connection is closed; nil: all.
  package var cut: Int?
  /// Whether the data connection is left open when everything was sent.
  package var keepsDataOpen = false
  /// Whether the data connection is reset at its end instead of closed.
  package var resetsData = false
  /// Whether, in active mode, another machine (127.0.0.2) connects first, and sends something.
  package var isPrecededByAStranger = false
  /// Whether, in active mode, the server does not connect.
  package var neverConnects = false
  /// Called for each command, before it is answered.
  package var onCommand: @Sendable (String) async throws -> Void = { _ in }

  package init() {}
}

extension FTPScript {
  /// Has one file, `name`.
  package static func file(_ name: String = "a.txt", _ text: String = "hello\n") -> FTPScript {
    var script = FTPScript()
    script.files = [name: Array(text.utf8)]
    return script
  }

  /// The script with changes.
  package func with(_ change: (inout FTPScript) -> Void) -> FTPScript {
    var script = self
    change(&script)
    return script
  }
}

/// An FTP server on the loopback interface that does what a script says: one listener for commands, one for data. Made
/// for one client at a time.
package final class ScriptedFTPServer: Sendable {
  package let control: LoopbackServer
  package let data: LoopbackServer
  private let state: State

  /// What the two listeners tell each other.
  private struct State: Sendable {
    let commands = Recorder<String>()
    let orders = Recorder<[UInt8]>()
    let deliveries = Recorder<Bool>()
  }

  private init(control: LoopbackServer, data: LoopbackServer, state: State) {
    self.control = control
    self.data = data
    self.state = state
  }

  /// The commands of all clients so far, without line ends.
  package var commands: [String] { state.commands.all }

  package var port: Int { control.port }

  /// - Parameter options: Of the listener for commands.
  package static func start(
    _ script: FTPScript, options: LoopbackServer.Options = .init()
  ) async throws -> ScriptedFTPServer {
    let state = State()
    var dataOptions = LoopbackServer.Options()
    dataOptions.host = options.host
    let data = try await LoopbackServer.startRaw(options: dataOptions) { connection in
      let bytes = try await state.orders.next()
      defer { if !script.keepsDataOpen { state.deliveries.record(true) } }
      for start in stride(from: 0, to: min(bytes.count, script.cut ?? .max), by: 65_536) {
        let end = min(start + 65_536, script.cut ?? .max, bytes.count)
        try await connection.write(Array(bytes[start..<end]))
      }
      if script.keepsDataOpen {
        state.deliveries.record(true)
        return try await connection.waitUntilClosed()
      }
      if script.resetsData { connection.reset() }
    }
    let dataPort = data.port
    let control = try await LoopbackServer.startRaw(options: options) { connection in
      try await converse(connection, script, state, dataPort: dataPort)
    }
    return ScriptedFTPServer(control: control, data: data, state: state)
  }

  private static func converse(
    _ connection: ServerConnection, _ script: FTPScript, _ state: State, dataPort: Int
  ) async throws {
    guard !script.greeting.isEmpty else { return try await connection.waitUntilClosed() }
    var client: SocketAddress?
    var user = ""
    try await connection.write(script.greeting)
    while let line = try await connection.readCommand() {
      state.commands.record(line)
      try await script.onCommand(line)
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      let (verb, argument) = (words.first ?? "", words.count > 1 ? words[1] : "")
      if let answer = script.answers[verb] {
        guard !answer.isEmpty else { return try await connection.waitUntilClosed() }
        try await connection.write(answer)
        continue
      }
      switch verb {
      case "RETR", "LIST", "NLST":
        guard let bytes = verb == "RETR" ? script.files[argument] : Array(script.listing.utf8) else {
          try await connection.write("550 \(argument): No such file or directory\r\n")
          continue
        }
        try await connection.write("150 here it comes\r\n")
        if let client {
          if !script.neverConnects { try await deliver(bytes, to: client, script) }
        } else {
          state.orders.record(bytes)
          _ = try await state.deliveries.next()
        }
        guard !script.ending.isEmpty else { return }
        try await connection.write(script.ending)
      case "EPRT", "PORT":
        client = try address(argument)
        try await connection.write("200 I'll come\r\n")
      case "USER":
        user = argument
        try await connection.write("331 and the password?\r\n")
      case "PASS" where script.users.map { $0[user] != argument } ?? false:
        try await connection.write("530 Login incorrect.\r\n")
      case "QUIT": return try await connection.write("221 bye\r\n")
      case "SIZE":
        try await connection.write(script.files[argument].map { "213 \($0.count)\r\n" } ?? "550 what?\r\n")
      default: try await connection.write(reply(to: verb, dataPort: dataPort))
      }
    }
  }

  /// Of EPRT (RFC 2428 §2) or PORT (RFC 959 §4.1.2).
  private static func address(_ argument: String) throws -> SocketAddress {
    let parts = argument.split(separator: "|")
    if parts.count == 3 { return try SocketAddress(ipAddress: String(parts[1]), port: Int(parts[2]) ?? 0) }
    let numbers = argument.split(separator: ",").map { Int($0) ?? 0 }
    guard numbers.count == 6 else { throw MalformedAddress() }
    return try SocketAddress(
      ipAddress: numbers.prefix(4).map(String.init).joined(separator: "."), port: numbers[4] << 8 | numbers[5])
  }

  private struct MalformedAddress: Error {}

  private static func deliver(_ bytes: [UInt8], to client: SocketAddress, _ script: FTPScript) async throws {
    let bootstrap = ClientBootstrap(group: ServerLoops.group)
    if script.isPrecededByAStranger {
      let stranger = try await bootstrap.bind(to: SocketAddress(ipAddress: "127.0.0.2", port: 0)).connect(to: client)
        .get()
      // It is hung up on, before or after it has written.
      try? await stranger.writeAndFlush(ByteBuffer(string: "evil")).get()
      try await stranger.closeFuture.get()
    }
    let data = try await ClientBootstrap(group: ServerLoops.group).connect(to: client).get()
    try await data.writeAndFlush(ByteBuffer(bytes: bytes.prefix(script.cut ?? .max))).get()
    try await data.close().get()
  }

  private static func reply(to verb: String, dataPort: Int) -> String {
    switch verb {
    case "PASS": "230 come in\r\n"
    case "CWD": "250 there you are\r\n"
    case "TYPE": "200 as you like\r\n"
    case "EPSV": "229 Entering Extended Passive Mode (|||\(dataPort)|)\r\n"
    // Another machine's address: a client that uses it can be led to any machine.
    case "PASV": "227 Entering Passive Mode (192,0,2,1,\(dataPort >> 8),\(dataPort & 0xff))\r\n"
    default: "502 \(verb) is not known here\r\n"
    }
  }

  /// Returns when no connection of either kind is open; throws ``WaitExpired`` when one stays.
  package func expectNoOpenConnections(within limit: Duration = patience) async throws {
    try await control.expectNoOpenConnections(within: limit)
    try await data.expectNoOpenConnections(within: limit)
  }

  package func shutdown() async {
    await control.shutdown()
    await data.shutdown()
  }
}

extension ServerConnection {
  /// The next line without its end; nil when the client closed before it ended one.
  package func readCommand() async throws -> String? {
    var collected = ByteBuffer()
    while true {
      if let end = collected.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
        var line = collected.readSlice(length: end - collected.readerIndex) ?? ByteBuffer()
        collected.moveReaderIndex(forwardBy: 1)
        unread(collected)
        let text = line.readString(length: line.readableBytes) ?? ""
        return text.last == "\r" ? String(text.dropLast()) : text
      }
      guard var more = try await read() else { return nil }
      collected.writeBuffer(&more)
    }
  }
}
