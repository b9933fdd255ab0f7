import HTTPSemantics

extension FuzzTarget {
  /// `data:` URLs: those of an app or a server, and those that are made of the bytes here.
  static let dataURLs = FuzzTarget("data-urls") { bytes in
    let (choice, rest) = bytes.choice
    let escapesSpaces = choice & 1 == 1
    let text = rest.text
    for url in [text, "data:" + text] {
      guard let data = try? DataURL(parsing: url, escapesSpaces: escapesSpaces) else { continue }
      try require(data.bytes.count <= url.utf8.count, "more bytes than there were")
      let type = data.mediaType
      try require(
        !type.type.isEmpty && !type.subtype.isEmpty && (type.type + type.subtype).utf8.allSatisfy(\.isToken),
        "the media type \(type)")
      // RFC 3986 §3.5: a fragment is not part of the data.
      let withFragment = try? DataURL(parsing: url + "#more", escapesSpaces: escapesSpaces)
      try require(withFragment == data, "with a fragment: \(String(describing: withFragment))")
    }
    let encoded = [
      "data:;base64," + Base64.encoded(rest), "data:," + rest.map(percentEncoded).joined(),
      "DATA:a/b; base64," + Base64.encoded(rest).utf8.map(percentEncoded).joined(),
    ]
    for url in encoded {
      let data = try? DataURL(parsing: url, escapesSpaces: escapesSpaces)
      try require(data?.bytes == rest, "\(url) has other bytes")
    }
  }

  private static func percentEncoded(_ byte: UInt8) -> String {
    "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }
}
