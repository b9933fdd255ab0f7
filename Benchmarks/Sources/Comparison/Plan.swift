/// One thing that one client is told to do.
struct Run: Hashable {
  enum Load: Hashable {
    /// 1 KiB GETs, one after the other on each of `connections` connections.
    case small(connections: Int)
    /// So many 1 KiB GETs begun at once, over 6 connections.
    case tasks(count: Int)
    /// One GET of the large file.
    case large(scheme: String)
  }

  var client: Client
  var load: Load
  var mode: String
}

/// One line of the result: ours beside one peer.
struct Comparison {
  enum Quantity { case speed, peakMemory, memoryPerTask }

  var name: String
  var ours: Run
  var peer: Run
  var quantity = Quantity.speed

  var unit: String {
    switch (quantity, ours.load) {
    case (.speed, .small): "requests/s"
    case (.speed, .tasks): "tasks/s"
    case (.speed, .large): "MB/s"
    case (.memoryPerTask, _): "bytes/task"
    case (.peakMemory, _): "MiB"
    }
  }
}

/// Runs that alternate with one another, round by round.
struct Group {
  var name: String
  var comparisons: [Comparison]

  /// Every run that a comparison needs, ours next to the peers it is compared with, each once a round.
  var runs: [Run] {
    var seen: Set<Run> = []
    return comparisons.flatMap { [$0.ours, $0.peer] }.filter { seen.insert($0).inserted }
  }
}

/// Everything that is measured, in order.
enum Plan {
  static let groups: [Group] = [1, 6, 32].map(smallGets) + [manyTasks(10_000)] + ["http", "https"].map(largeGet)

  private static func smallGets(connections: Int) -> Group {
    let load = Run.Load.small(connections: connections)
    return group("small-\(connections)", load) { mode in
      switch mode {
      // The peers other than FoundationNetworking have one face each: it stands beside all three of ours.
      case "async", "completion", "delegate":
        [
          (.foundationNetworking, mode), (.asyncHTTPClient, "async"), (.libcurlMulti, "multi"),
        ]
      default: []
      }
    }
  }

  /// Peers that have no tasks begin as many calls at once.
  private static func manyTasks(_ count: Int) -> Group {
    let load = Run.Load.tasks(count: count)
    let ours = Run(client: .ours, load: load, mode: "completion")
    let peers = [
      Run(client: .foundationNetworking, load: load, mode: "completion"),
      Run(client: .asyncHTTPClient, load: load, mode: "async"),
    ]
    let quantities: [(String, Comparison.Quantity)] = [("", .speed), (" memory", .memoryPerTask)]
    return Group(
      name: "tasks-\(count)",
      comparisons: peers.flatMap { peer in
        quantities.map { Comparison(name: "tasks-\(count)\($0.0)", ours: ours, peer: peer, quantity: $0.1) }
      })
  }

  private static func largeGet(scheme: String) -> Group {
    group("large-\(scheme)", .large(scheme: scheme)) { mode in
      switch mode {
      case "memory": [(.foundationNetworking, mode), (.asyncHTTPClient, mode), (.libcurlMulti, mode)]
      case "delegate":
        [
          (.foundationNetworking, mode), (.asyncHTTPClient, mode), (.libcurlMulti, mode), (.curlProgram, mode),
        ]
      case "bytes": [(.asyncHTTPClient, mode)]
      case "file":
        [
          (.foundationNetworking, mode), (.asyncHTTPClient, mode), (.libcurlMulti, mode), (.curlProgram, mode),
        ]
      default: []
      }
    }
  }

  private static let modes = ["async", "completion", "delegate", "memory", "bytes", "file"]

  private static func group(_ name: String, _ load: Run.Load, peers: (String) -> [(Client, String)]) -> Group {
    let isLarge = if case .large = load { true } else { false }
    let comparisons = modes.filter { isLarge || !["memory", "bytes", "file"].contains($0) }.flatMap { mode in
      peers(mode).flatMap { peer, peerMode in
        let ours = Run(client: .ours, load: load, mode: mode)
        let theirs = Run(client: peer, load: load, mode: peerMode)
        return [
          Comparison(name: "\(name)-\(mode)", ours: ours, peer: theirs),
          Comparison(name: "\(name)-\(mode) peak memory", ours: ours, peer: theirs, quantity: .peakMemory),
        ]
      }
    }
    return Group(name: name, comparisons: comparisons)
  }
}

/// What this package sets out to reach.
struct Goal {
  enum Measure { case ratio(to: Client, atLeast: Double), ours(atMost: Double) }

  var name: String
  var measure: Measure

  static let all = [
    Goal(name: "small-32-async", measure: .ratio(to: .asyncHTTPClient, atLeast: 1)),
    Goal(name: "small-32-async", measure: .ratio(to: .foundationNetworking, atLeast: 8)),
    Goal(name: "large-http-file", measure: .ratio(to: .curlProgram, atLeast: 1)),
    Goal(name: "large-http-file peak memory", measure: .ours(atMost: 64)),
  ]
}
