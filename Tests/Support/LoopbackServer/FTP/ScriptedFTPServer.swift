import NIOCore
import NIOPosix

/// An FTP server on the loopback interface that does what a script says: one listener for commands, one for data. Made
/// for one client at a time.
package final class ScriptedFTPServer: Sendable {
  package let control: LoopbackServer
  package let data: LoopbackServer
  private let state: State

  /// What the two listeners tell each other.
  private struct State: Sendable {
    let commands = Recorder<String>()
    let orders = Recorder<Order>()
    let deliveries = Recorder<Bool>()
    /// Data connections that wait for an order.
    let arrivals = Recorder<Bool>()
    let uploads = Recorder<[UInt8]>()
  }

  private enum Order: Sendable {
    case send([UInt8])
    case receive
    /// The command was refused: the connection that was made for it is of no use.
    case leave
  }

  private init(control: LoopbackServer, data: LoopbackServer, state: State) {
    self.control = control
    self.data = data
    self.state = state
  }

  /// The commands of all clients so far, without line ends.
  package var commands: [String] { state.commands.all }

  /// The contents of the files that clients have sent.
  package var uploads: [[UInt8]] { state.uploads.all }

  package var port: Int { control.port }

  /// - Parameter options: Of the listener for commands.
  package static func start(
    _ script: FTPScript, options: LoopbackServer.Options = .init()
  ) async throws -> ScriptedFTPServer {
    let state = State()
    var dataOptions = LoopbackServer.Options()
    dataOptions.host = options.host
    let data = try await LoopbackServer.startRaw(options: dataOptions) { connection in
      if let tls = script.tls { try await connection.startTLS(tls, announcing: "") }
      state.arrivals.record(true)
      let order = try await state.orders.next()
      defer { if !script.keepsDataOpen { state.deliveries.record(true) } }
      if case .leave = order { return }
      guard case .send(let bytes) = order else {
        // A task of its own: a client that has sent all may be gone before the first byte is read.
        state.uploads.record(try await Task { try await upload(over: connection, atMost: script.mostReceived) }.value)
        return
      }
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
    let control = try await LoopbackServer.startRaw(
      tls: script.isImplicitlySecure ? script.tls : nil, options: options
    ) { connection in
      try await converse(connection, script, state, dataPort: dataPort)
    }
    return ScriptedFTPServer(control: control, data: data, state: state)
  }

  private static func upload(over connection: ServerConnection, atMost limit: Int?) async throws -> [UInt8] {
    var received: [UInt8] = []
    while received.count < limit ?? .max, let bytes = try await connection.read() {
      received += Array(bytes.readableBytesView)
    }
    return received
  }

  private static func converse(
    _ connection: ServerConnection, _ script: FTPScript, _ state: State, dataPort: Int
  ) async throws {
    guard !script.greeting.isEmpty else { return try await connection.waitUntilClosed() }
    var client: SocketAddress?
    var user = ""
    var offset = 0
    try await connection.write(script.greeting)
    while let line = try await connection.readCommand() {
      state.commands.record(line)
      try await script.onCommand(line)
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      let (verb, argument) = (words.first ?? "", words.count > 1 ? words[1] : "")
      if let answer = script.answers[verb] {
        guard !answer.isEmpty else { return try await connection.waitUntilClosed() }
        let isTransfer = ["RETR", "LIST", "NLST", "MLSD", "STOR", "APPE"].contains(verb)
        // The script may have led the client elsewhere.
        if isTransfer, client == nil, script.answers["EPSV"] == nil { try await leave(script, state) }
        try await connection.write(answer)
        continue
      }
      switch verb {
      case "RETR", "LIST", "NLST", "MLSD":
        let listing = verb == "MLSD" ? script.facts ?? script.listing : script.listing
        guard let bytes = verb == "RETR" ? script.files[argument] : Array(listing.utf8) else {
          if client == nil { try await leave(script, state) }
          try await connection.write("550 \(argument): No such file or directory\r\n")
          continue
        }
        if client == nil { _ = try await state.arrivals.next() }
        try await connection.write("150 here it comes\r\n")
        let rest = Array(bytes.dropFirst(verb == "RETR" ? offset : 0))
        offset = 0
        if let client {
          if !script.neverConnects { try await deliver(rest, to: client, script) }
        } else {
          state.orders.record(.send(rest))
          _ = try await state.deliveries.next()
        }
        guard !script.ending.isEmpty else { return }
        try await connection.write(script.ending)
      case "STOR", "APPE":
        if client == nil { _ = try await state.arrivals.next() }
        state.orders.record(.receive)
        // One write, so that a client reads both at once.
        try await connection.write("150 send it\r\n" + (script.endsBeforeReading ? script.ending : ""))
        if script.endsBeforeReading { continue }
        _ = try await state.deliveries.next()
        guard !script.ending.isEmpty else { return }
        try await connection.write(script.ending)
      case "REST":
        offset = Int(argument) ?? 0
        try await connection.write("350 from there\r\n")
      case "MDTM": try await connection.write(script.dates[argument].map { "213 \($0)\r\n" } ?? "550 what?\r\n")
      case "AUTH":
        guard let tls = script.tls else {
          try await connection.write("502 no TLS here\r\n")
          continue
        }
        try await connection.startTLS(tls, announcing: "234 go on\r\n")
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

  /// Has the data connection that was made for a refused command end, which would take the order for the next one.
  private static func leave(_ script: FTPScript, _ state: State) async throws {
    _ = try await state.arrivals.next()
    state.orders.record(.leave)
    if !script.keepsDataOpen { _ = try await state.deliveries.next() }
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
    case "NOOP", "PBSZ", "PROT": "200 fine\r\n"
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
