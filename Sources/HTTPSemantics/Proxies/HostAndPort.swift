/// `host`, `host:port`, `[v6]`, `[v6]:port`, or a bare IPv6 address.
enum HostAndPort {
  /// nil for a port that is none.
  static func split(_ text: some StringProtocol) -> (host: String, port: Int?)? {
    var host = String(text)
    var digits = ""
    if host.utf8.first == UInt8(ascii: "[") {
      guard let close = host.firstIndex(of: "]") else { return nil }
      let after = host[host.index(after: close)...]
      guard after.isEmpty || after.first == ":" else { return nil }
      digits = String(after.dropFirst())
      host = String(host[host.index(after: host.startIndex)..<close])
    } else if let colon = host.lastIndex(of: ":"), host.firstIndex(of: ":") == colon {
      digits = String(host[host.index(after: colon)...])
      host = String(host[..<colon])
    }
    guard !digits.isEmpty else { return (host, nil) }
    guard let port = Int64(decimalDigits: digits.utf8), (1...65535).contains(port) else { return nil }
    return (host, Int(port))
  }
}
