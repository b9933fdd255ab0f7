import HTTPSemantics
import HTTPTransport
import NIOCore

extension FuzzTarget {
  /// What proxies answer before bytes pass through them: SOCKS 4 and 5, CONNECT.
  static let tunnels = FuzzTarget("tunnels") { bytes in
    let (choice, rest) = bytes.choice
    let whole = negotiate(choice, [rest[...]])
    let pieces = negotiate(choice, rest.pieces(of: 1))
    try require(whole.isDone == pieces.isDone && whole.hasFailed == pieces.hasFailed, "\(whole) at once; \(pieces)")
    try require(!whole.isDone || whole.left == pieces.left, "\(whole.left) bytes are the server's, or \(pieces.left)")
  }

  private struct Outcome {
    var isDone = false
    var hasFailed = false
    var sent = 0
    var left = 0
  }

  private static func negotiate(_ choice: Int, _ pieces: [ArraySlice<UInt8>]) -> Outcome {
    let credential = choice & 4 == 0 ? nil : ProxyServer.Credential(username: "user", password: "pass")
    let kind: ProxyServer.Kind = [.socks4, .socks4a, .socks5, .http][choice & 3]
    let server = ProxyServer(kind, host: "proxy.example", port: 1080, credential: credential)
    var outcome = Outcome()
    do throws(ProxyFailure) {
      switch kind {
      case .socks5:
        outcome = try run(SOCKS5Negotiation(server, host: "a.example", port: 443), pieces)
      case .http, .https:
        let hop = ProxyHop(server, use: .tunnel)
        outcome = try run(ConnectNegotiation(hop, host: "a.example", port: 443), pieces)
      case .socks4, .socks4a:
        outcome = try run(SOCKS4Negotiation(server, host: "a.example", port: 443, address: [127, 0, 0, 1]), pieces)
      }
    } catch { outcome.hasFailed = true }
    return outcome
  }

  private static func run(
    _ negotiation: some ProxyNegotiation, _ pieces: [ArraySlice<UInt8>]
  ) throws(ProxyFailure) -> Outcome {
    var negotiation = negotiation
    var outcome = Outcome()
    if case .send(let bytes) = try negotiation.begin() { outcome.sent = bytes.readableBytes }
    var input = ByteBuffer()
    for piece in pieces {
      input.writeBytes(piece)
      reading: while !outcome.isDone {
        switch try negotiation.advance(&input) {
        case .needsMore: break reading
        case .send(let bytes), .sendSecret(let bytes): outcome.sent += bytes.readableBytes
        // Only a credential asks.
        case .ask: break reading
        case .done: outcome.isDone = true
        }
      }
    }
    outcome.left = input.readableBytes
    return outcome
  }

  /// What scripts, settings and environments say of proxies, and Alt-Svc.
  static let routes = FuzzTarget("routes") { bytes in
    let text = bytes.text
    for route in PACAnswer.routes(text) {
      if case .proxy(let server) = route { try require(!server.host.isEmpty, "a proxy without a name") }
    }
    try require(!PACAnswer.routes(text).isEmpty, "no way to go")
    if let server = ProxyServer(url: text) { try require(!server.host.isEmpty, "a proxy without a name") }
    let destinations = ["example.org", "10.1.2.3", "::1", text].map {
      ProxyDestination(scheme: "http", host: $0, port: 80)
    }
    for exceptions in [ProxyExceptions(noProxy: text), ProxyExceptions([text], dialect: .exceptionsList)] {
      for destination in destinations { _ = exceptions.contains(destination) }
    }
    if let address = IPAddressText(text) { try require(address.matches(address, prefix: 32), "\(text) is not itself") }
    if case .services(let services)? = AlternativeService.read(text) {
      for service in services {
        try require((1...65_535).contains(service.port), "port \(service.port)")
      }
    }
  }
}
