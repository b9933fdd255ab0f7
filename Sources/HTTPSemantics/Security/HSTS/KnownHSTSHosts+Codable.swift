/// The stored form: `{"version": 1, "hosts": [{"host": …, "includesSubdomains": …, "expiry": …}]}`, sorted by host.
extension KnownHSTSHosts: Codable {
  private enum Key: String, CodingKey { case version, hosts }

  private struct Entry: Codable {
    var host: String
    var includesSubdomains: Bool
    var expiry: Int64
  }

  private static let version = 1

  /// Entries beyond the default limit, and those whose host is no name, are left out.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let version = try container.decode(Int.self, forKey: .version)
    guard version == KnownHSTSHosts.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container, debugDescription: "Version \(version) of the known hosts is not supported.")
    }
    self.init()
    for entry in try container.decode([Entry].self, forKey: .hosts) {
      restore(Policy(includesSubdomains: entry.includesSubdomains, expiry: entry.expiry), of: entry.host)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(KnownHSTSHosts.version, forKey: .version)
    let entries = policies.sorted { $0.key < $1.key }.map { host, policy in
      Entry(host: host, includesSubdomains: policy.includesSubdomains, expiry: policy.expiry)
    }
    try container.encode(entries, forKey: .hosts)
  }
}
