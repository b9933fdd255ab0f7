import HTTPTransport
import NIOHPACK

#if HTTP3
import CQUIC
#endif

extension FuzzTarget {
  /// The SETTINGS of an HTTP/3 server, on up to four streams that take turns.
  static let http3Settings = FuzzTarget("http3-settings") { bytes in
    let (choice, rest) = bytes.choice
    let count = 1 + choice & 3
    let whole = settings(of: rest.pieces(of: 1 + rest.count / count), count)
    for size in Set([1, 1 + choice >> 2]) {
      // The streams get the same bytes, in pieces.
      let found = settings(of: rest.pieces(of: 1 + rest.count / count), count, pieces: size)
      try require(whole == found, "in pieces of \(size): \(found); at once: \(whole)")
    }
  }

  private static func settings(of parts: [ArraySlice<UInt8>], _ count: Int, pieces size: Int = .max) -> [Bool?] {
    var settings = HTTP3PeerSettings()
    var answers: [Bool?] = []
    for (index, part) in parts.enumerated() {
      var rest = part[...]
      while !rest.isEmpty {
        let wantsMore = Array(rest.prefix(size)).withUnsafeBufferPointer {
          settings.read($0, of: Int64(index % count) * 4 + 3)
        }
        rest = rest.dropFirst(size)
        if !wantsMore { break }
      }
      answers.append(settings.enablesConnectProtocol)
    }
    return answers
  }

  /// Fields of a request, as the state machine of HTTP/3 gets them: lines of name and value.
  static let http3Fields = FuzzTarget("http3-fields") { bytes in
    #if HTTP3
    var fields = HPACKHeaders()
    for line in bytes.text.split(separator: "\n", omittingEmptySubsequences: false) {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      // The list takes no other names.
      guard let name = parts.first, name.utf8.allSatisfy({ $0 < 0x80 }) else { continue }
      fields.add(name: String(name), value: parts.count > 1 ? String(parts[1]) : "")
    }
    let seen = HTTP3FieldList.withFields(fields) { list in
      list.map { (text($0.name, $0.name_length), text($0.value, $0.value_length), $0.is_secret != 0) }
    }
    var rest = seen[...]
    for (name, value, _) in fields {
      let crumbs =
        name == "cookie"
        ? rest.prefix(value.split(separator: "; ", omittingEmptySubsequences: false).count) : rest.prefix(1)
      rest = rest.dropFirst(crumbs.count)
      try require(crumbs.allSatisfy { $0.0 == name }, "\(name) became \(crumbs)")
      try require(crumbs.map(\.1).joined(separator: "; ") == value, "\(value) became \(crumbs)")
      try require(name != "cookie" || crumbs.allSatisfy(\.2), "a crumb is not secret: \(crumbs)")
    }
    try require(rest.isEmpty, "too many fields: \(rest)")
    #endif
  }

  #if HTTP3
  private static func text(_ start: UnsafePointer<UInt8>?, _ count: Int) -> String {
    String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }
  #endif

  /// What happens to a QUIC connection before its server has answered: datagrams, time, and what the client does.
  static let datagrams = FuzzTarget("datagrams") { bytes in
    #if HTTP3
    guard let client = FuzzedClient() else { return }
    try client.run(bytes[...])
    #endif
  }
}
