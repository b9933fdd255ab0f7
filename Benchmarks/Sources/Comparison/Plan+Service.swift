/// The rows of the transfer service, which `make bench ONLY=service` measures.
extension Plan {
  static let serviceGroups = [queueTimes(10_000), queueMemory(100_000), manyFiles, oneFile, idle]

  /// There is no peer: the goals are times.
  private static func queueTimes(_ count: Int) -> Group {
    let run = Run(client: .service, load: .queue(count: count), mode: "times")
    let name = "service-queue-\(count)"
    return Group(
      name: name,
      comparisons: ["enqueue", "start", "list", "api", "cancel"].map {
        Comparison(name: "\(name)-\($0)", ours: run, quantity: .figure($0, unit: "s"))
      })
  }

  private static func queueMemory(_ count: Int) -> Group {
    let run = Run(client: .service, load: .queue(count: count), mode: "memory")
    let name = "service-queue-\(count)"
    return Group(
      name: name,
      comparisons: [("start", "s"), ("memory", "MiB")].map {
        Comparison(name: "\(name)-\($0.0)", ours: run, quantity: .figure($0.0, unit: $0.1))
      })
  }

  /// The service has each file on the disk before the app has it. aria2 and curl leave that to the kernel, so they stand
  /// beside it as they are, and with a sync of each file after the last one.
  private static let manyFiles = files(
    .many, name: "service-files-2000", peers: [(.aria2, "aria2"), (.curlProgram, "curl")], synced: true)

  private static let oneFile = files(
    .one, name: "service-file-4g", peers: [(.aria2, "aria2"), (.curlProgram, "curl")], synced: true)

  private static func files(
    _ kind: Run.FileKind, name: String, peers: [(Client, String)], synced: Bool
  ) -> Group {
    let ours = Run(client: .service, load: .files(kind), mode: "service")
    let comparisons = peers.flatMap { client, mode in
      let plain = Run(client: client, load: .files(kind), mode: mode)
      let durable = Run(client: client, load: .files(kind), mode: "\(mode)-synced")
      return [
        Comparison(name: name, ours: ours, peer: plain),
        Comparison(name: "\(name) synced", ours: ours, peer: durable),
        Comparison(
          name: "\(name) processor", ours: ours, peer: plain, quantity: .figure("processor", unit: "processor s")),
        Comparison(name: "\(name) peak memory", ours: ours, peer: plain, quantity: .peakMemory),
      ]
    }
    return Group(name: name, comparisons: comparisons)
  }

  private static let idle: Group = {
    let run = Run(client: .service, load: .idle, mode: "idle")
    return Group(
      name: "service-idle",
      comparisons: ["worker", "supervisor"].flatMap { process in
        [
          Comparison(name: "service-idle-\(process) memory", ours: run, quantity: .figure(process, unit: "MiB")),
          Comparison(
            name: "service-idle-\(process) wake-ups", ours: run,
            quantity: .figure("\(process) wake-ups", unit: "in a minute", beside: "Dispatch wake-ups")),
        ]
      })
  }()
}

extension Goal {
  static let service = [
    Goal(name: "service-queue-10000-enqueue", measure: .ours(atMost: 1)),
    Goal(name: "service-queue-10000-start", measure: .ours(atMost: 0.5)),
    Goal(name: "service-queue-10000-list", measure: .ours(atMost: 0.3)),
    Goal(name: "service-queue-10000-api", measure: .ours(atMost: 0.3)),
    Goal(name: "service-queue-10000-cancel", measure: .ours(atMost: 2)),
    Goal(name: "service-files-2000", measure: .ratio(to: .aria2, atLeast: 1)),
    Goal(name: "service-file-4g", measure: .ratio(to: .curlProgram, atLeast: 1)),
    Goal(name: "service-file-4g", measure: .ratio(to: .aria2, atLeast: 1)),
    Goal(name: "service-file-4g peak memory", measure: .ours(atMost: 48)),
    Goal(name: "service-idle-worker memory", measure: .ours(atMost: 25)),
    Goal(name: "service-idle-worker wake-ups", measure: .ours(atMost: 0)),
    Goal(name: "service-idle-supervisor wake-ups", measure: .ours(atMost: 0)),
  ]
}
