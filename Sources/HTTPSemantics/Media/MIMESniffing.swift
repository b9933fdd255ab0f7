/// Guesses the type of a resource whose server does not name one, from its first bytes: the signatures of the WHATWG
/// MIME Sniffing Standard §6 and §7, without what only a browser needs.
package enum MIMESniffing {
  /// How many bytes are looked at: more change nothing (§5.2).
  package static let headerLength = 1445

  /// The media type of a resource that begins with `bytes`.
  package static func mediaType(of bytes: some Collection<UInt8>) -> String {
    let head = Array(bytes.prefix(headerLength))
    guard !head.isEmpty else { return "text/plain" }
    return scriptable(head) ?? signature(head) ?? textOrBinary(head)
  }

  /// §7.2: for a server that says `text/plain` of everything it does not know. Binary data is no text.
  package static func textOrBinary(_ head: [UInt8]) -> String {
    let marks: [[UInt8]] = [[0xfe, 0xff], [0xff, 0xfe], [0xef, 0xbb, 0xbf]]
    if marks.contains(where: { head.starts(with: $0) }) { return "text/plain" }
    return head.contains(where: isBinary) ? "application/octet-stream" : "text/plain"
  }

  /// §3: bytes that no text holds.
  private static func isBinary(_ byte: UInt8) -> Bool {
    byte <= 0x08 || byte == 0x0b || (0x0e...0x1a).contains(byte) || (0x1c...0x1f).contains(byte)
  }

  /// §7.1 step 1: HTML, XML and PDF, after white space, in any case.
  private static func scriptable(_ head: [UInt8]) -> String? {
    let text = head.drop { $0 == 0x09 || $0 == 0x0a || $0 == 0x0c || $0 == 0x0d || $0 == 0x20 }
    if matches(text, "<?xml", ignoringCase: false) { return "text/xml" }
    for tag in htmlTags where matches(text, tag, ignoringCase: true) {
      // A tag ends with a space or ">".
      guard let next = text.dropFirst(tag.utf8.count).first else { continue }
      if next == 0x20 || next == 0x3e || tag == "<!--" { return "text/html" }
    }
    return matches(head[...], "%PDF-", ignoringCase: false) ? "application/pdf" : nil
  }

  private static let htmlTags = [
    "<!DOCTYPE HTML", "<HTML", "<HEAD", "<SCRIPT", "<IFRAME", "<H1", "<DIV", "<FONT", "<TABLE", "<A", "<STYLE",
    "<TITLE", "<B", "<BODY", "<BR", "<P", "<!--",
  ]

  private static func matches(_ bytes: ArraySlice<UInt8>, _ pattern: String, ignoringCase: Bool) -> Bool {
    let pattern = pattern.utf8
    guard bytes.count >= pattern.count else { return false }
    return zip(bytes, pattern).allSatisfy { byte, wanted in
      let isLetter = ignoringCase && (0x41...0x5a).contains(wanted)
      return byte == wanted || (isLetter && byte == wanted | 0x20)
    }
  }

  /// A run of bytes at a place in the resource, and what it means.
  private struct Signature {
    let bytes: [UInt8]
    var offset = 0
    let type: String

    init(_ bytes: [UInt8], at offset: Int = 0, _ type: String) {
      self.bytes = bytes
      self.offset = offset
      self.type = type
    }

    init(_ text: String, at offset: Int = 0, _ type: String) { self.init(Array(text.utf8), at: offset, type) }

    func matches(_ head: [UInt8]) -> Bool { head.dropFirst(offset).starts(with: bytes) }
  }

  private static func signature(_ head: [UInt8]) -> String? {
    if Signature("RIFF", "").matches(head) {
      return riff.first { $0.matches(head) }?.type
    }
    return signatures.first { $0.matches(head) }?.type
  }

  private static let riff = [
    Signature("WEBPVP", at: 8, "image/webp"), Signature("WAVE", at: 8, "audio/wave"),
    Signature("AVI ", at: 8, "video/avi"),
  ]

  private static let signatures = [
    Signature("%!PS-Adobe-", "application/postscript"),
    Signature([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
    Signature([0xff, 0xd8, 0xff], "image/jpeg"),
    Signature("GIF87a", "image/gif"),
    Signature("GIF89a", "image/gif"),
    Signature("BM", "image/bmp"),
    Signature([0x00, 0x00, 0x01, 0x00], "image/x-icon"),
    Signature("ftypavif", at: 4, "image/avif"),
    Signature("ftypheic", at: 4, "image/heic"),
    Signature("ftypqt", at: 4, "video/quicktime"),
    Signature("ftypM4A", at: 4, "audio/mp4"),
    Signature("ftyp", at: 4, "video/mp4"),
    Signature([0x1a, 0x45, 0xdf, 0xa3], "video/webm"),
    Signature("ID3", "audio/mpeg"),
    Signature("OggS\u{0}", "application/ogg"),
    Signature("fLaC", "audio/flac"),
    Signature("MThd\u{0}\u{0}\u{0}\u{6}", "audio/midi"),
    Signature("wOFF", "font/woff"),
    Signature("wOF2", "font/woff2"),
    Signature("OTTO", "font/otf"),
    Signature([0x00, 0x01, 0x00, 0x00], "font/ttf"),
    Signature([0x1f, 0x8b, 0x08], "application/x-gzip"),
    Signature("PK\u{3}\u{4}", "application/zip"),
    Signature("Rar \u{1a}\u{7}\u{0}", "application/x-rar-compressed"),
    Signature([0x28, 0xb5, 0x2f, 0xfd], "application/zstd"),
    Signature([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], "application/x-7z-compressed"),
    Signature([0x00, 0x61, 0x73, 0x6d], "application/wasm"),
  ]
}
