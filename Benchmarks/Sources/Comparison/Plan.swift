/// One thing that one client is told to do.
struct Run: Hashable {
  enum Load: Hashable {
    /// 1 KiB GETs, one after the other on each of `connections` connections.
    case small(connections: Int)
    /// The same from a server that wants a user name and password, by Basic.
    case basic(connections: Int)
    /// The same as `small`, of responses that come from the server each time, with a default session's cache and cookies
    /// or with neither.
    case reloaded(CacheControl, connections: Int, hasStores: Bool)
    /// One response from the cache, in turn with the same one from the server.
    case hits
    /// So many responses stored in a cache on disk, and some of them found.
    case entries(count: Int)
    /// The cookies for a URL among so many.
    case cookies(count: Int)
    /// Answers of a custom protocol that has them at once.
    case mock
    /// So many 1 KiB GETs begun at once, over 6 connections.
    case tasks(count: Int)
    /// 1 KiB GETs on one HTTP/2 connection, so many of them at any time.
    case streams(concurrent: Int)
    /// The same on one connection to the server that speaks HTTP/2 and HTTP/3.
    case quicStreams(Wire, concurrent: Int)
    /// The first byte over new connections of HTTP/3 to a server that is known.
    case firstBytes
    /// Over a link with a delay and loss.
    case overLink(LinkLoad)
    /// 1 KiB GETs through an HTTP proxy, one after the other on each of `connections` connections to it.
    case proxied(ProxyUse, connections: Int)
    /// So many GETs of 1 KiB begun at once, each to a host of its own.
    case scattered(count: Int)
    /// 1 KiB GETs over TLS, each on a connection of its own, under way on `concurrent` at any time.
    case handshakes(Handshake, concurrent: Int)
    /// One GET of 1 KiB, and what the process has in memory then.
    case one
    /// A program that loads 1 KiB, from its start to its end.
    case start
    /// So many 1 KiB GETs under way at any time, over so many connections: a point of a plot.
    case concurrent(Int, connections: Int)
    /// GETs of a file of so many bytes, one after the other: a point of a plot.
    case sized(Int)
    /// As `small`, by a process with so many event loops, or with libcurl, which has none, so many threads; from one host, or
    /// from so many that divide the connections among them: a point of a plot.
    case looped(Int, connections: Int, hosts: Int)
    /// As `small`, by a process with so many event loops, each of which has a tenth of a processor and no more.
    case bounded(loops: Int, connections: Int)
    /// The large file, sent.
    case upload(Wire)
    /// One GET of the large file.
    case large(Wire)
    /// So many tasks that the transfer service has.
    case queue(count: Int)
    /// So many files, downloaded through the service or by a program that downloads files.
    case files(FileKind)
    /// The service with nothing to do.
    case idle
  }

  /// What is loaded over the link: 1 KiB GETs on one connection, so many of them at any time; a file of some megabytes, from
  /// the server or to it; the first byte over new connections of HTTP/3 and of HTTP/2.
  enum LinkLoad: Hashable { case streams(Wire, concurrent: Int), download(Wire), upload(Wire), firstBytes }

  /// 2,000 files of 1 KiB, or one of 4 GiB.
  enum FileKind: String { case many, one }

  /// Whether a connection's keys come from the one before it, or from a handshake with certificates.
  enum Handshake: String { case full, resumed }

  /// What the large file comes over. `h2` is HTTP/2 over TLS; `http` and `https` are HTTP/1.1; `h3` is HTTP/3, and `h2BesideH3`
  /// HTTP/2 from the same server, at a port where it announces no HTTP/3.
  enum Wire: String { case http, https, h2, h3, h2BesideH3 }

  /// A proxy is sent whole requests, or asked for a connection to the server (CONNECT).
  enum ProxyUse: String { case forward, tunnel }

  /// The server's word about its responses: they are not stored, or stored and then asked about each time.
  enum CacheControl: String { case noStore = "no-store", noCache = "no-cache" }

  var client: Client
  var load: Load
  var mode: String
  /// What is counted for each request, which costs time.
  var counting: Counting?

  /// Blocks of the heap; instructions outside the kernel.
  enum Counting: String { case allocations, instructions }
}

/// One line of the result: ours beside one peer, or alone where there is none.
struct Comparison {
  enum Quantity: Equatable {
    case speed, peakMemory, memoryPerTask
    /// One figure of a run beside another one of the same run.
    case time(String, beside: String)
    /// One figure of a run beside the same one of the peer's, or another one of the same run, or alone.
    case figure(String, unit: String, beside: String? = nil)
  }

  var name: String
  var ours: Run
  var peer: Run?
  var quantity = Quantity.speed

  var unit: String {
    switch (quantity, ours.load) {
    case (.speed, .tasks): "tasks/s"
    case (.speed, .large), (.speed, .sized), (.speed, .upload), (.speed, .files(.one)), (.speed, .overLink(.download)),
      (.speed, .overLink(.upload)):
      "MB/s"
    case (.speed, .files(.many)): "files/s"
    case (.speed, _): "requests/s"
    case (.time, _): "µs"
    case (.figure(_, let unit, _), _): unit
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
    return comparisons.flatMap { [$0.ours, $0.peer].compactMap(\.self) }.filter { seen.insert($0).inserted }
  }
}

/// Everything that is measured, in order.
enum Plan {
  static let groups: [Group] =
    [1, 6, 32].map(smallGets) + [defaultStores(32), basic(32)] + ["memory", "disk"].map(cacheHits)
    + [cacheEntries(100_000), cookies(10_000), mocks] + [streams(100)] + [.forward, .tunnel].map(proxied) + [
      boundedLoops
    ]
    + [manyTasks(10_000), scattered(1_000)] + [.full, .resumed].map(handshakes) + [one, start]
    + [.http, .https, .h2].map(largeGet) + quicGroups + linkGroups + [.http, .https, .h2].map(upload)
    + [allocations, allocationsBesidePeer, instructions] + serviceGroups + plotGroups

  private static func smallGets(connections: Int) -> Group {
    group("small-\(connections)", .small(connections: connections)) { mode in
      switch mode {
      // The peers other than FoundationNetworking have one face each: it stands beside all three of ours.
      case "async", "completion", "delegate":
        [
          (.foundationNetworking, mode), (.asyncHTTPClient, "async"), (.libcurlMulti, "multi"),
          (.libcurlThreads, mode == "async" ? "executor" : "queue"), (.curlProgram, "parallel"),
        ]
      default: []
      }
    }
  }

  /// Beside ours without a credential: what it costs to send one that is known.
  private static func basic(_ connections: Int) -> Group {
    Group(
      name: "basic-\(connections)",
      comparisons: ["async", "completion", "delegate"].map { mode in
        Comparison(
          name: "basic-\(connections)-\(mode)",
          ours: Run(client: .ours, load: .basic(connections: connections), mode: mode),
          peer: Run(client: .ours, load: .small(connections: connections), mode: mode))
      })
  }

  /// Beside ours without cache and cookies: what they cost where they are of no use.
  private static func defaultStores(_ connections: Int) -> Group {
    func comparison(_ name: String, _ control: Run.CacheControl, _ mode: String) -> Comparison {
      func run(hasStores: Bool) -> Run {
        Run(client: .ours, load: .reloaded(control, connections: connections, hasStores: hasStores), mode: mode)
      }
      return Comparison(
        name: "small-\(connections)-\(name)-\(mode)", ours: run(hasStores: true), peer: run(hasStores: false))
    }
    return Group(
      name: "small-\(connections)-default",
      comparisons: ["async", "completion", "delegate"].map { comparison("default", .noStore, $0) }
        + [comparison("no-cache", .noCache, "async")])
  }

  /// In one process, since the times are as short as what one process gains on another.
  private static func cacheHits(in tier: String) -> Group {
    let run = Run(client: .ours, load: .hits, mode: tier)
    let name = "cache-\(tier)-hit"
    return Group(
      name: name,
      comparisons: [
        Comparison(name: name, ours: run, peer: run, quantity: .time("hit", beside: "loopback fetch"))
      ])
  }

  /// Beside a cache with a tenth as many.
  private static func cacheEntries(_ count: Int) -> Group {
    let run = Run(client: .ours, load: .entries(count: count), mode: "entries")
    return Group(
      name: "cache-\(count)",
      comparisons: ["store", "find"].map { figure in
        Comparison(
          name: "cache-\(count)-\(figure)", ours: run, peer: run,
          quantity: .time(figure, beside: "\(figure) in a tenth"))
      })
  }

  /// Beside a store with a hundredth as many.
  private static func cookies(_ count: Int) -> Group {
    let run = Run(client: .ours, load: .cookies(count: count), mode: "find")
    let name = "cookies-\(count)"
    return Group(
      name: name,
      comparisons: [
        Comparison(name: name, ours: run, peer: run, quantity: .time("find", beside: "find in a hundredth"))
      ])
  }

  /// Beside the same protocol in the toolchain's library; with completion handlers also beside the changes of thread alone.
  private static let mocks = Group(
    name: "protocol-mock",
    comparisons: ["async", "completion"].flatMap { mode in
      let ours = Run(client: .ours, load: .mock, mode: mode)
      let theirs = Run(client: .foundationNetworking, load: .mock, mode: mode)
      let besidePeer = Comparison(
        name: "protocol-mock-\(mode)", ours: ours, peer: theirs, quantity: .time("answer", beside: "answer"))
      guard mode == "completion" else { return [besidePeer] }
      let besideHops = Comparison(
        name: "protocol-mock-\(mode) hops", ours: ours, peer: ours, quantity: .time("answer", beside: "hops"))
      return [besidePeer, besideHops]
    })

  /// async-http-client knows tunnels only, the toolchain's FoundationNetworking only the other way.
  private static func proxied(_ use: Run.ProxyUse) -> Group {
    group("squid-32-\(use.rawValue)", .proxied(use, connections: 32)) { mode in
      switch (mode, use) {
      case ("async", .forward), ("completion", .forward), ("delegate", .forward):
        [(.foundationNetworking, mode), (.libcurlMulti, "multi")]
      case ("async", .tunnel), ("completion", .tunnel), ("delegate", .tunnel):
        [(.asyncHTTPClient, "async"), (.libcurlMulti, "multi")]
      default: []
      }
    }
  }

  /// h2load parses answers and does nothing with them: an upper bound rather than a peer.
  private static func streams(_ concurrent: Int) -> Group {
    group("h2-\(concurrent)", .streams(concurrent: concurrent)) { mode in
      ["async", "completion", "delegate"].contains(mode) ? [(.asyncHTTPClient, "async"), (.h2load, "multi")] : []
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

  private static func scattered(_ count: Int) -> Group {
    let name = "scattered-\(count)"
    let ours = Run(client: .ours, load: .scattered(count: count), mode: "completion")
    let peer = Run(client: .asyncHTTPClient, load: .scattered(count: count), mode: "async")
    return Group(
      name: name,
      comparisons: [
        Comparison(name: name, ours: ours, peer: peer),
        Comparison(name: "\(name) peak memory", ours: ours, peer: peer, quantity: .peakMemory),
      ])
  }

  /// One host, with connections enough for each of several loops. Beside ours with one loop, and async-http-client with as
  /// many.
  private static let boundedLoops = Group(
    name: "loops",
    comparisons: [1, 2, 4].flatMap { loops in
      func run(_ client: Client, _ mode: String, loops: Int) -> Run {
        Run(client: client, load: .bounded(loops: loops, connections: 128), mode: mode)
      }
      let ours = run(.ours, "completion", loops: loops)
      let peers =
        (loops == 1 ? [] : [run(.ours, "completion", loops: 1)]) + [run(.asyncHTTPClient, "async", loops: loops)]
      return peers.map { Comparison(name: "loops-\(loops)", ours: ours, peer: $0) }
    })

  /// async-http-client keeps no sessions of TLS.
  private static func handshakes(_ handshake: Run.Handshake) -> Group {
    let name = "connections-\(handshake.rawValue)"
    let load = Run.Load.handshakes(handshake, concurrent: 32)
    let ours = Run(client: .ours, load: load, mode: "completion")
    let peers = [
      Run(client: .asyncHTTPClient, load: load, mode: "async"), Run(client: .libcurlMulti, load: load, mode: "multi"),
    ]
    return Group(name: name, comparisons: peers.map { Comparison(name: name, ours: ours, peer: $0) })
  }

  private static let one = Group(
    name: "one-get",
    comparisons: [
      Comparison(
        name: "one-get memory", ours: Run(client: .ours, load: .one, mode: "async"),
        peer: Run(client: .asyncHTTPClient, load: .one, mode: "async"), quantity: .figure("resident", unit: "MiB"))
    ])

  private static let start = Group(
    name: "program-start",
    comparisons: [
      Comparison(
        name: "program-start", ours: Run(client: .command, load: .start, mode: "urlsession"),
        peer: Run(client: .command, load: .start, mode: "curl"), quantity: .figure("start", unit: "ms"))
    ])

  private static func upload(over wire: Run.Wire) -> Group {
    let name = "upload-\(wire.rawValue)-file"
    let ours = Run(client: .ours, load: .upload(wire), mode: "file")
    let peer = Run(client: .curlProgram, load: .upload(wire), mode: "file")
    return Group(
      name: name,
      comparisons: [
        Comparison(name: name, ours: ours, peer: peer),
        Comparison(name: "\(name) peak memory", ours: ours, peer: peer, quantity: .peakMemory),
      ])
  }

  private static func largeGet(over wire: Run.Wire) -> Group {
    group("large-\(wire.rawValue)", .large(wire)) { mode in
      switch (wire, mode) {
      // The toolchain's FoundationNetworking can't be told to speak HTTP/2, and does so as it likes.
      case (.h2, "memory"): [(.asyncHTTPClient, mode), (.libcurlMulti, mode), (.curlProgram, "delegate")]
      case (.h2, "delegate"), (.h2, "file"): [(.asyncHTTPClient, mode), (.libcurlMulti, mode), (.curlProgram, mode)]
      // The curl program does not collect: what ours does stands beside its throwing everything away.
      case (_, "memory"):
        [
          (.foundationNetworking, mode), (.asyncHTTPClient, mode), (.libcurlMulti, mode), (.curlProgram, "delegate"),
        ]
      case (_, "delegate"):
        [
          (.foundationNetworking, mode), (.asyncHTTPClient, mode), (.libcurlMulti, mode), (.curlProgram, mode),
        ]
      // The others have no sequence of bytes: what they hand out piece by piece stands beside it.
      case (_, "bytes"): [(.asyncHTTPClient, mode), (.libcurlMulti, "delegate"), (.curlProgram, "delegate")]
      case (_, "file"):
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
        let speed = Comparison(name: "\(name)-\(mode)", ours: ours, peer: theirs)
        // Who keeps the body does not need as little memory as who does not.
        if isLarge, mode != peerMode { return [speed] }
        // The others do not say how long their threads have run.
        let processor =
          [.asyncHTTPClient, .libcurlMulti, .libcurlThreads].contains(peer) && !isLarge
          ? [
            Comparison(
              name: "\(name)-\(mode) processor", ours: ours, peer: theirs,
              quantity: .figure("processor", unit: "µs"))
          ] : []
        return processor + [
          speed, Comparison(name: "\(name)-\(mode) peak memory", ours: ours, peer: theirs, quantity: .peakMemory),
        ]
      }
    }
    return Group(name: name, comparisons: comparisons)
  }
}
