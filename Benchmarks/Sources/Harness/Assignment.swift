import Foundation

/// What a client is told to do. Every client, in Swift or C, understands the same command line:
///
///     client small --mode async --connections 32 --warmup 0.5 --seconds 2 --bytes 1024 --url URL [--ca FILE]
///                  [--protocol h2|h3] [--proxy URL | --tunnel URL] [--user NAME:PASSWORD] [--stores default]
///                  [--concurrent 1000] [--hosts 32]
///     client tasks --mode completion --count 10000 --connections 6 --bytes 1024 --url URL
///     client large --mode file --bytes 1073741824 --url URL [--ca FILE] [--protocol h2|h3] [--directory DIRECTORY]
///                  [--least 1.5]
///     client upload --mode file --bytes 1073741824 --url URL --source FILE [--ca FILE] [--protocol h2]
///     client scattered --mode completion --count 1000 --bytes 1024 --url URL
///     client first --mode async --warmup 0.5 --seconds 2 --bytes 1024 --url URL --ca FILE --protocol h3 [--beside URL]
///     client one --mode async --bytes 1024 --url URL
///     client start --mode urlsession|curl --seconds 2 --bytes 1024 --url URL [--programs DIRECTORY]
///     client cache --mode memory|disk --warmup 0.5 --seconds 2 --bytes 1024 --url URL --directory DIRECTORY
///     client cache --mode entries --count 100000 --warmup 0.5 --seconds 2 --bytes 1024 --url URL --directory DIRECTORY
///     client cookies --mode find --count 10000 --warmup 0.5 --seconds 2 --bytes 1024 --url URL
///     client mock --mode async --warmup 0.5 --seconds 2 --bytes 1024 --url URL
///     client queue --mode times|memory --count 10000 --url URL --bytes 0 --programs DIRECTORY --directory DIRECTORY
///     client files --mode service|aria2|aria2-synced|curl|curl-synced --count 2000 --connections 6 --bytes 1024
///                  --url URL --source DIRECTORY --programs DIRECTORY --directory DIRECTORY
///     client idle --mode idle --seconds 60 --url URL --bytes 0 --programs DIRECTORY --directory DIRECTORY
public struct Assignment: Sendable {
  /// Many small GETs for a while, the first byte over new connections, a number of them all at once, to one host or each to a host of its own, a single one, or
  /// one large one; one large upload; a program's start with one GET; calls that a cache, a store of cookies or a custom
  /// protocol answers; tasks that the transfer service has, files that it downloads, or a service that has nothing to do.
  public enum Work: String, Sendable, CaseIterable {
    case small, tasks, scattered, first, one, large, upload, start, cache, cookies, mock, queue, files, idle
  }

  public var work: Work
  /// Which face of the client's API loads: `async`, `completion`, `delegate`, `memory`, `bytes`, `file`; for a cache what
  /// it is asked for: a response in `memory` or on `disk`, or one of many `entries`.
  public var mode: String
  public var url: URL
  /// How long the body of each response has to be.
  public var bytes: Int
  /// Connections, or with HTTP/2 requests at any time on the one connection.
  public var connections: Int
  /// GETs under way at any time: as many as there are connections, unless it is said.
  public var concurrent: Int
  /// Hosts among which the connections and the small GETs are divided; above 1, they are addresses of the loopback network.
  public var hosts: Int
  /// HTTP/2 is spoken rather than HTTP/1.1. The server refuses other versions.
  public var isHTTP2: Bool
  /// HTTP/3 is spoken, and nothing else is taken for it.
  public var isHTTP3: Bool
  /// The same from a server of HTTP/2.
  public var beside: URL?
  /// The HTTP proxy to send requests to.
  public var proxy: URL?
  /// The HTTP proxy to ask for connections (CONNECT).
  public var tunnel: URL?
  /// The user that the server's space "members" knows, by Basic.
  public var user: (name: String, password: String)?
  /// Whether the session has the cache and the cookies of a default one, both with something in them. Otherwise it has
  /// neither.
  public var hasStores: Bool
  /// How many GETs to begin at once, or how many responses or cookies there are.
  public var count: Int
  /// Seconds before counting starts, and seconds of counting.
  public var warmup: Double
  public var seconds: Double
  /// A large load is repeated until so many seconds are over; 0: it is made once.
  public var least: Double
  /// The certificate authority to trust for https, a PEM file.
  public var certificateAuthority: String?
  /// The folder of downloaded files and of caches.
  public var directory: URL
  /// The folder of the programs `urlsessiond` and `urlsession`.
  public var programs: String
  /// The folder of the files that the server has, `0000` and so on, for comparing; or the file to upload.
  public var source: String

  /// The assignment of this process; ends it when the command line makes no sense.
  public static func fromCommandLine() -> Assignment {
    var arguments = CommandLine.arguments.dropFirst()
    guard let work = arguments.popFirst().flatMap(Work.init(rawValue:)) else {
      fail("the first argument is one of \(Work.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    var options: [String: String] = [:]
    while let name = arguments.popFirst() {
      guard name.hasPrefix("--"), let value = arguments.popFirst() else { fail("\(name) needs a value") }
      options[String(name.dropFirst(2))] = value
    }
    guard let mode = options["mode"], let url = options["url"].flatMap(URL.init(string:)),
      let bytes = options["bytes"].flatMap(Int.init)
    else { fail("--mode, --url and --bytes are needed") }
    let connections = options["connections"].flatMap(Int.init) ?? 1
    return Assignment(
      work: work, mode: mode, url: url, bytes: bytes, connections: connections,
      concurrent: options["concurrent"].flatMap(Int.init) ?? connections,
      hosts: options["hosts"].flatMap(Int.init) ?? 1, isHTTP2: options["protocol"] == "h2",
      isHTTP3: options["protocol"] == "h3", beside: options["beside"].flatMap(URL.init(string:)),
      proxy: options["proxy"].flatMap(URL.init(string:)), tunnel: options["tunnel"].flatMap(URL.init(string:)),
      user: options["user"].flatMap(user(in:)), hasStores: options["stores"] == "default",
      count: options["count"].flatMap(Int.init) ?? 10_000,
      warmup: options["warmup"].flatMap(Double.init) ?? 0.5,
      seconds: options["seconds"].flatMap(Double.init) ?? 2,
      least: options["least"].flatMap(Double.init) ?? 0, certificateAuthority: options["ca"],
      directory: URL(fileURLWithPath: options["directory"] ?? NSTemporaryDirectory(), isDirectory: true),
      programs: options["programs"] ?? "", source: options["source"] ?? "")
  }
}

extension Assignment {
  /// As many URLs as there are GETs, each of another host.
  public var scatteredURLs: [URL] { urls(ofHosts: count) }

  /// The URLs of the small GETs, one of each host.
  public var smallURLs: [URL] { hosts > 1 ? urls(ofHosts: hosts) : [url] }

  public var connectionsPerHost: Int { max(connections / hosts, 1) }

  /// The hosts are addresses of the loopback network, which all lead to the same server.
  private func urls(ofHosts count: Int) -> [URL] {
    (0..<count).map { number in
      var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
      components?.host = "127.1.\(number / 250).\(number % 250 + 1)"
      guard let url = components?.url else { fail("\(url) has no host") }
      return url
    }
  }
}

private func user(in text: String) -> (name: String, password: String)? {
  let parts = text.split(separator: ":", maxSplits: 1)
  return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
}

/// Ends the process: a client that cannot do its work must not look fast.
public func fail(_ reason: String) -> Never {
  FileHandle.standardError.write(Data("client: \(reason)\n".utf8))
  exit(1)
}

/// Ends the process unless a response was what the server has.
public func verify(status: Int?, bytes: Int, expected: Int) {
  guard status == 200 else { fail("status \(status.map(String.init) ?? "none") instead of 200") }
  guard bytes == expected else { fail("\(bytes) bytes instead of \(expected)") }
}
