/// HTTP/3 beside our own HTTP/2 from the same server, and beside aioquic's client.
extension Plan {
  static let quicGroups = [quicStreams(100), largeOverQUIC, firstBytes]

  private static func quicStreams(_ concurrent: Int) -> Group {
    let name = "h3-\(concurrent)-async"
    func run(_ client: Client, _ wire: Run.Wire) -> Run {
      Run(client: client, load: .quicStreams(wire, concurrent: concurrent), mode: "async")
    }
    return Group(
      name: "h3-\(concurrent)",
      comparisons: [run(.ours, .h2BesideH3), run(.aioquic, .h3)].flatMap { peer in
        [
          Comparison(name: name, ours: run(.ours, .h3), peer: peer),
          Comparison(
            name: "\(name) processor", ours: run(.ours, .h3), peer: peer, quantity: .figure("processor", unit: "µs")),
          Comparison(name: "\(name) peak memory", ours: run(.ours, .h3), peer: peer, quantity: .peakMemory),
        ]
      })
  }

  private static let largeOverQUIC = Group(
    name: "large-h3",
    comparisons: ["memory", "file"].flatMap { mode in
      let ours = Run(client: .ours, load: .large(.h3), mode: mode)
      let peers = [
        Run(client: .ours, load: .large(.h2BesideH3), mode: mode), Run(client: .aioquic, load: .large(.h3), mode: mode),
      ]
      return peers.flatMap { peer in
        [
          Comparison(name: "large-h3-\(mode)", ours: ours, peer: peer),
          Comparison(name: "large-h3-\(mode) peak memory", ours: ours, peer: peer, quantity: .peakMemory),
        ]
      }
    })

  /// In one process, beside handshakes that are resumed without early data.
  private static let firstBytes = Group(
    name: "h3-first-byte",
    comparisons: [
      Comparison(
        name: "h3-first-byte", ours: Run(client: .ours, load: .firstBytes, mode: "async"),
        peer: Run(client: .ours, load: .firstBytes, mode: "async"), quantity: .time("early", beside: "resumed"))
    ])
}
