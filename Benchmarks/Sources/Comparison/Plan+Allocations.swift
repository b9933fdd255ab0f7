/// Blocks of the heap that a request takes. They are counted, not timed, so that they don't depend on how busy the machine is.
extension Plan {
  /// Ten paths, alone: continuous integration compares them with what is written down in ``Goal/recorded``.
  static let allocations = Group(
    name: "allocations",
    comparisons: counted.map { name, run in
      Comparison(name: "allocations-\(name)", ours: run, quantity: .figure("allocations", unit: "blocks/request"))
    })

  static let allocationsBesidePeer = Group(
    name: "heap",
    comparisons: counted.filter { $0.name.hasPrefix("small") || $0.name.hasPrefix("h2") }.map { name, run in
      let peer = Run(client: .asyncHTTPClient, load: run.load, mode: "async", counting: .allocations)
      return Comparison(
        name: "heap-\(name)", ours: run, peer: peer, quantity: .figure("allocations", unit: "blocks/request"))
    })

  /// Instructions outside the kernel that a request takes.
  static let instructions = Group(
    name: "instructions",
    comparisons: (modes("small", .small(connections: 32)) + modes("h2", .streams(concurrent: 100))).map { name, run in
      var (ours, peer) = (run, Run(client: .asyncHTTPClient, load: run.load, mode: "async"))
      ours.counting = .instructions
      peer.counting = .instructions
      return Comparison(
        name: "instructions-\(name)", ours: ours, peer: peer,
        quantity: .figure("instructions", unit: "instructions/request"))
    })

  private static let counted: [(name: String, run: Run)] =
    modes("small", .small(connections: 32)) + modes("h2", .streams(concurrent: 100))
    + [
      ("basic-completion", run(.basic(connections: 32), "completion")),
      ("default-async", run(.reloaded(.noStore, connections: 32, hasStores: true), "async")),
      ("forward-completion", run(.proxied(.forward, connections: 32), "completion")),
      ("tunnel-completion", run(.proxied(.tunnel, connections: 32), "completion")),
    ]

  private static func modes(_ name: String, _ load: Run.Load) -> [(name: String, run: Run)] {
    ["async", "completion", "delegate"].map { ("\(name)-\($0)", run(load, $0)) }
  }

  private static func run(_ load: Run.Load, _ mode: String) -> Run {
    Run(client: .ours, load: load, mode: mode, counting: .allocations)
  }
}

extension Goal {
  /// The allocations of each path when they were last looked at, by median. A change that saves some lowers its number here.
  private static let recorded: [(name: String, blocks: Double)] = [
    ("small-async", 17.5),
    ("small-completion", 19.6),
    ("small-delegate", 23.2),
    ("h2-async", 20.9),
    ("h2-completion", 22.9),
    ("h2-delegate", 26.2),
    ("basic-completion", 23.6),
    ("default-async", 19.1),
    ("forward-completion", 44.3),
    ("tunnel-completion", 38.0),
  ]

  /// A path that takes more than a twentieth above what is recorded has grown.
  static let allocations =
    recorded.map { Goal(name: "allocations-\($0.name)", measure: .ours(atMost: $0.blocks * 1.05)) }
    + ["async", "completion", "delegate"].map {
      Goal(name: "heap-small-\($0)", measure: .ratio(to: .asyncHTTPClient, atLeast: 2))
    }
    + ["async", "completion", "delegate"].map {
      Goal(name: "instructions-small-\($0)", measure: .ratio(to: .asyncHTTPClient, atLeast: 2))
    }
}
