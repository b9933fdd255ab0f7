/// What stands beside libcurl driven from C, h2load, curl and async-http-client.
extension Goal {
  static let asFastAsC = small + busy + loops + large + uploads + connections

  private static let modes = ["async", "completion", "delegate"]

  private static let small: [Goal] = ["small-1", "small-6", "small-32"].flatMap { name in
    modes.flatMap { mode -> [Goal] in
      [
        beside(.libcurlMulti, "\(name)-\(mode)", atLeast: 1),
        beside(.asyncHTTPClient, "\(name)-\(mode)", atLeast: 1.8),
      ]
    }
  }

  private static let busy: [Goal] = modes.flatMap { mode -> [Goal] in
    [
      beside(.h2load, "h2-100-\(mode)", atLeast: 0.7),
      beside(.libcurlMulti, "squid-32-forward-\(mode)", atLeast: 1),
      beside(.libcurlMulti, "squid-32-tunnel-\(mode)", atLeast: 1),
    ]
  }

  /// Two and four loops beside one: 0.8 times as many times as much.
  private static let loops = [
    Goal(name: "loops-2", measure: .ratio(to: .ours, atLeast: 1.6)),
    Goal(name: "loops-4", measure: .ratio(to: .ours, atLeast: 3.2)),
  ]

  private static let large: [Goal] =
    ["memory", "delegate"].flatMap { mode -> [Goal] in
      [
        beside(.asyncHTTPClient, "large-http-\(mode)", atLeast: 1),
        beside(.curlProgram, "large-http-\(mode)", atLeast: 1),
        beside(.curlProgram, "large-https-\(mode)", atLeast: 1),
        beside(.curlProgram, "large-h2-\(mode)", atLeast: 1),
      ]
    }
    + wires.flatMap { wire -> [Goal] in
      [
        beside(.curlProgram, "large-\(wire)-file", atLeast: 1.2),
        Goal(name: "large-\(wire)-file peak memory", measure: .ours(atMost: 48)),
        beside(.asyncHTTPClient, "large-\(wire)-bytes", atLeast: 0.8),
      ]
    }

  private static let uploads: [Goal] = wires.flatMap { wire -> [Goal] in
    [
      beside(.curlProgram, "upload-\(wire)-file", atLeast: 1),
      Goal(name: "upload-\(wire)-file peak memory", measure: .ours(atMost: 32)),
    ]
  }

  private static let connections: [Goal] = [
    beside(.asyncHTTPClient, "tasks-10000", atLeast: 1.2),
    Goal(name: "tasks-10000 memory", measure: .ours(atMost: 4_096)),
    beside(.asyncHTTPClient, "scattered-1000", atLeast: 1),
    beside(.asyncHTTPClient, "connections-full", atLeast: 1),
    beside(.libcurlMulti, "connections-full", atLeast: 1),
    beside(.asyncHTTPClient, "connections-resumed", atLeast: 1),
    beside(.libcurlMulti, "connections-resumed", atLeast: 1),
    beside(.asyncHTTPClient, "one-get memory", atLeast: 1.25),
    beside(.command, "program-start", atLeast: 0.5),
  ]

  private static let wires = ["http", "https", "h2"]

  private static func beside(_ peer: Client, _ name: String, atLeast ratio: Double) -> Goal {
    Goal(name: name, measure: .ratio(to: peer, atLeast: ratio))
  }
}
