/// What stands beside libcurl driven from C, h2load, curl and async-http-client.
extension Goal {
  static let asFastAsC =
    ["small-1", "small-6", "small-32"].flatMap { name in
      ["async", "completion", "delegate"].flatMap { mode in
        [
          Goal(name: "\(name)-\(mode)", measure: .ratio(to: .libcurlMulti, atLeast: 1)),
          Goal(name: "\(name)-\(mode)", measure: .ratio(to: .asyncHTTPClient, atLeast: 1.8)),
        ]
      }
    }
    + ["async", "completion", "delegate"].flatMap { mode in
      [
        Goal(name: "h2-100-\(mode)", measure: .ratio(to: .h2load, atLeast: 0.7)),
        Goal(name: "squid-32-forward-\(mode)", measure: .ratio(to: .libcurlMulti, atLeast: 1)),
        Goal(name: "squid-32-tunnel-\(mode)", measure: .ratio(to: .libcurlMulti, atLeast: 1)),
      ]
    }
    + ["memory", "delegate"].flatMap { mode in
      [
        Goal(name: "large-http-\(mode)", measure: .ratio(to: .asyncHTTPClient, atLeast: 1)),
        Goal(name: "large-http-\(mode)", measure: .ratio(to: .curlProgram, atLeast: 1)),
        Goal(name: "large-https-\(mode)", measure: .ratio(to: .curlProgram, atLeast: 1)),
        Goal(name: "large-h2-\(mode)", measure: .ratio(to: .curlProgram, atLeast: 1)),
      ]
    }
    + ["http", "https", "h2"].flatMap { wire in
      [
        Goal(name: "large-\(wire)-file", measure: .ratio(to: .curlProgram, atLeast: 1.2)),
        Goal(name: "large-\(wire)-file peak memory", measure: .ours(atMost: 48)),
        Goal(name: "large-\(wire)-bytes", measure: .ratio(to: .asyncHTTPClient, atLeast: 0.8)),
        Goal(name: "upload-\(wire)-file", measure: .ratio(to: .curlProgram, atLeast: 1)),
        Goal(name: "upload-\(wire)-file peak memory", measure: .ours(atMost: 32)),
      ]
    }
    + [
      Goal(name: "tasks-10000", measure: .ratio(to: .asyncHTTPClient, atLeast: 1.2)),
      Goal(name: "tasks-10000 memory", measure: .ours(atMost: 4_096)),
      Goal(name: "scattered-1000", measure: .ratio(to: .asyncHTTPClient, atLeast: 1)),
      Goal(name: "connections-full", measure: .ratio(to: .asyncHTTPClient, atLeast: 1)),
      Goal(name: "connections-full", measure: .ratio(to: .libcurlMulti, atLeast: 1)),
      Goal(name: "connections-resumed", measure: .ratio(to: .libcurlMulti, atLeast: 1)),
      Goal(name: "one-get memory", measure: .ratio(to: .asyncHTTPClient, atLeast: 1.25)),
      Goal(name: "program-start", measure: .ratio(to: .command, atLeast: 0.5)),
    ]
}
