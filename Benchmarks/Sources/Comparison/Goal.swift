/// What this package sets out to reach.
struct Goal {
  enum Measure { case ratio(to: Client, atLeast: Double), ours(atMost: Double) }

  var name: String
  var measure: Measure

  static let all =
    [
      Goal(name: "small-32-async", measure: .ratio(to: .foundationNetworking, atLeast: 8)),
      Goal(name: "small-32-default-async", measure: .ratio(to: .ours, atLeast: 0.9)),
      Goal(name: "small-32-default-completion", measure: .ratio(to: .ours, atLeast: 0.9)),
      Goal(name: "small-32-default-delegate", measure: .ratio(to: .ours, atLeast: 0.9)),
      Goal(name: "basic-32-async", measure: .ratio(to: .ours, atLeast: 0.95)),
      Goal(name: "basic-32-completion", measure: .ratio(to: .ours, atLeast: 0.95)),
      Goal(name: "basic-32-delegate", measure: .ratio(to: .ours, atLeast: 0.95)),
      Goal(name: "cache-memory-hit", measure: .ours(atMost: 30)),
      Goal(name: "cache-disk-hit", measure: .ours(atMost: 150)),
      Goal(name: "cookies-10000", measure: .ours(atMost: 20)),
      Goal(name: "protocol-mock-async", measure: .ours(atMost: 20)),
      Goal(name: "protocol-mock-completion", measure: .ours(atMost: 20)),
      Goal(name: "h2-100-async", measure: .ratio(to: .asyncHTTPClient, atLeast: 1)),
    ] + asFastAsC + overLink + allocations + service
}
