/// The sources in which the C library finds the addresses of names, as nsswitch.conf(5), resolv.conf(5) and hosts(5) say. Reads nothing itself.
package struct NameSources: Sendable, Equatable {
  package enum Way: Sendable, Equatable {
    /// Not known, or not by the DNS.
    case unknown
    /// From systemd-resolved, which asks the DNS.
    case resolved
    /// From name servers that the C library asks.
    case servers(DomainResolution)
  }

  /// Of every name that is in no file and belongs to no machine or network alone.
  private let way: Way
  /// In lower case; nil where they are not known.
  private let namesInFiles: Set<String>?

  /// - Parameters:
  ///   - switches: The text of nsswitch.conf; nil where there is none.
  ///   - resolver: The text of resolv.conf; nil where there is none.
  ///   - options: The variable `RES_OPTIONS`.
  ///   - hosts: The text of hosts; nil where it is too long to be read.
  ///   - ownName: The name of this machine.
  package init(switches: String?, resolver: String?, options: String?, hosts: String?, ownName: String) {
    way = NameSources.way(switches: switches ?? "", resolver: resolver ?? "", options: options ?? "")
    namesInFiles = hosts.map { NameSources.names(in: $0).union([ownName.lowercased()]) }
  }

  /// The way of `host`. A name without a dot may be one of another source, or of a search domain.
  package func way(of host: String) -> Way {
    let name = (host.last == "." ? host.dropLast() : host[...]).lowercased()
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard let namesInFiles, let last = labels.last, labels.count > 1, !labels.contains(""),
      !name.utf8.contains(UInt8(ascii: ":")), last.contains(where: { !$0.isNumber }),
      !NameSources.localDomains.contains(last), !namesInFiles.contains(name)
    else { return .unknown }
    return way
  }

  /// RFC 6761 and RFC 6762, and a name of the C library's for this machine.
  private static let localDomains: Set<Substring> = ["localhost", "local", "localdomain"]

  // MARK: Files

  private static func way(switches: String, resolver: String, options: String) -> Way {
    for source in sources(in: switches) {
      switch source {
      // `way(of:)` leaves out the names that these know. Names of machines have no dot.
      case "files", "myhostname", "mymachines", "mdns4_minimal", "mdns6_minimal", "mdns_minimal": continue
      case "resolve": return .resolved
      case "dns":
        if ResolvedRecords.isResolver(in: resolver) { return .resolved }
        return .servers(servers(in: resolver, options: options))
      default: return .unknown
      }
    }
    return .unknown
  }

  private static func sources(in switches: String) -> [Substring] {
    for line in switches.split(whereSeparator: \.isNewline) {
      let words = withoutComment(line).split(whereSeparator: \.isWhitespace)
      guard let first = words.first, first.hasPrefix("hosts:") else { continue }
      // Words in brackets say what to do after a source.
      var isAction = false
      return ([first.dropFirst("hosts:".count)] + words.dropFirst()).filter { word in
        let isPart = isAction || word.hasPrefix("[")
        isAction = isPart && !word.hasSuffix("]")
        return !isPart && !word.isEmpty
      }
    }
    // The C library's own.
    return ["files", "dns"]
  }

  /// How a server of this machine asks is not known. Of more than three servers the C library asks the first three.
  private static func servers(in resolver: String, options: String) -> DomainResolution {
    var servers: [NameServer] = []
    var options = options.split(whereSeparator: \.isWhitespace)
    for line in resolver.split(whereSeparator: \.isNewline) {
      let words = line.split(whereSeparator: \.isWhitespace)
      switch words.first {
      case "nameserver": if let server = words.dropFirst().first.flatMap({ NameServer($0) }) { servers.append(server) }
      case "options": options += words.dropFirst()
      default: break
      }
    }
    let asked = servers.prefix(3)
    guard !asked.isEmpty, !asked.contains(where: \.isLoopback) else { return .unknown }
    return options.contains("use-vc") ? .tcp : .udp
  }

  private static func names(in hosts: String) -> Set<String> {
    var names: Set<String> = []
    for line in hosts.split(whereSeparator: \.isNewline) {
      for name in withoutComment(line).split(whereSeparator: \.isWhitespace).dropFirst() {
        names.insert((name.last == "." ? name.dropLast() : name).lowercased())
      }
    }
    return names
  }

  private static func withoutComment(_ line: Substring) -> Substring { line.prefix { $0 != "#" } }
}
