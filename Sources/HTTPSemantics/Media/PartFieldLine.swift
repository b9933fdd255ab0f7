/// One line of the head of a part of a multipart body.
enum PartFieldLine {
  /// Adds the field of `line`, which has no line end. A line that begins with white space continues the one before it
  /// (RFC 5322 §2.2.3). A line that is no field is left out, rather than losing the part.
  static func add(_ line: ArraySlice<UInt8>, to fields: inout HTTPFields) {
    guard let first = line.first, line.allSatisfy({ !$0.isControl || $0 == 0x09 }) else { return }
    if first.isHTTPWhitespace {
      let last = fields.fields.count - 1
      let more = text(line)
      guard last >= 0, !more.isEmpty else { return }
      fields.fields[last].value += fields.fields[last].value.isEmpty ? more : " " + more
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
    let name = text(line[..<colon])
    guard !name.isEmpty, name.utf8.allSatisfy(\.isToken) else { return }
    fields.append(name, text(line[(colon + 1)...]))
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self).trimmingHTTPWhitespace()
  }
}
