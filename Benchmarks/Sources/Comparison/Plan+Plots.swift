/// How speed and memory change with the number of tasks, of connections, of bytes and of event loops: the points of the
/// plots of Docs/Performance.md. They are measured only where their names are asked for.
extension Plan {
  static let plotGroups = [
    plot("tasks", [1, 10, 100, 1_000, 10_000], peers: [.asyncHTTPClient, .libcurlMulti]) {
      .concurrent($0, connections: 6)
    },
    plot("connections", [1, 6, 32, 128, 512, 1_000], peers: [.asyncHTTPClient, .libcurlMulti]) {
      .concurrent($0, connections: $0)
    },
    plot("bytes", sizes, peers: [.asyncHTTPClient, .libcurlMulti]) { .sized($0) },
    plot("loops", [1, 2, 4], peers: [.asyncHTTPClient, .libcurlMulti]) { .looped($0, connections: 32, hosts: 1) },
    plot("spread", [1, 2, 4], peers: [.asyncHTTPClient, .libcurlMulti]) { .looped($0, connections: 32, hosts: 32) },
  ]

  /// Scripts/bench makes a file of each.
  private static let sizes = [10, 14, 18, 22, 26, 30, 32].map { 1 << $0 }

  private static func plot(
    _ name: String, _ points: [Int], peers: [Client], _ load: (Int) -> Run.Load
  ) -> Group {
    let comparisons = points.flatMap { point in
      peers.flatMap { client in
        let (mode, peerMode) = modes(load(point), client)
        let ours = Run(client: .ours, load: load(point), mode: mode)
        let peer = Run(client: client, load: load(point), mode: peerMode)
        return [
          Comparison(name: "plot-\(name)-\(point)", ours: ours, peer: peer),
          Comparison(name: "plot-\(name)-\(point) peak memory", ours: ours, peer: peer, quantity: .peakMemory),
        ]
      }
    }
    return Group(name: "plot-\(name)", comparisons: comparisons)
  }

  private static func modes(_ load: Run.Load, _ client: Client) -> (ours: String, peer: String) {
    if case .sized = load { return ("delegate", "delegate") }
    return ("completion", client == .libcurlMulti ? "multi" : "async")
  }
}
