import Glibc

/// A server of names that resolv.conf(5) tells of.
struct NameServer: Equatable {
  /// Four for IPv4, sixteen for IPv6.
  var bytes: [UInt8]
  /// To which a link-local address belongs.
  var interface: String?

  /// 127.0.0.0/8 and ::1: a resolver on this machine, which has to ask others, and knows them better than we do.
  var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
  }

  /// Those on other machines.
  static func all(in configuration: String) -> [NameServer] {
    configuration.split(separator: "\n").compactMap { line in
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count >= 2, words[0] == "nameserver", let server = NameServer(words[1]), !server.isLoopback else {
        return nil
      }
      return server
    }
  }

  /// An address, perhaps with an interface behind `%`.
  init?(_ text: Substring) {
    let parts = text.split(separator: "%", maxSplits: 1)
    guard let address = parts.first, let bytes = NameServer.bytes(String(address)) else { return nil }
    self.bytes = bytes
    interface = parts.count == 2 ? String(parts[1]) : nil
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }
}
