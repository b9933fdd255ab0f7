/// Reads an FTP server's replies (RFC 959 §4.2) from bytes as they come, however they are cut.
///
/// A reply is `code SP text`, or `code-text`, any lines, and a last line that begins with the same code and a space.
/// Lines end with CR LF; a bare LF is taken, too. Whatever is no reply is an error, and the reader says it again ever
/// after.
package struct FTPReplyReader: Sendable {
  /// Why the bytes are no reply.
  package enum Malformation: Error, Sendable, Equatable {
    /// A line where a reply should begin that does not begin with a code.
    case notAReply(line: [UInt8])
    /// A line longer than `longestLine`.
    case lineTooLong
    /// A reply of more than `mostLines`, or of more than `mostBytes`.
    case replyTooLong
  }

  /// In bytes, without the line end. RFC 959 has no limit; servers keep to some 500.
  package static let longestLine = 8 * 1024
  package static let mostLines = 1_000
  package static let mostBytes = 256 * 1024

  private var input: [UInt8] = []
  /// The index at which the first line begins that was not looked at.
  private var start = 0
  /// How far there is certainly no line end.
  private var searched = 0
  private var pending: (code: Int, lines: [[UInt8]], bytes: Int)?
  private var malformation: Malformation?

  package init() {}

  /// Whether bytes have come that no reply was made of.
  package var hasInput: Bool { start < input.count || pending != nil }

  package mutating func append(_ bytes: some Sequence<UInt8>) {
    guard malformation == nil else { return }
    if start > 0 {
      input.removeSubrange(..<start)
      searched -= start
      start = 0
    }
    input.append(contentsOf: bytes)
  }

  /// The next reply; nil when more has to come first.
  package mutating func next() throws(Malformation) -> FTPReply? {
    if let malformation { throw malformation }
    do throws(Malformation) {
      while let line = try nextLine() {
        if let reply = try take(line) { return reply }
      }
      return nil
    } catch {
      malformation = error
      input = []
      (start, searched) = (0, 0)
      throw error
    }
  }

  private mutating func nextLine() throws(Malformation) -> [UInt8]? {
    guard let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = input.count
      // A CR may be the beginning of the line end.
      guard input.count - start <= FTPReplyReader.longestLine + 1 else { throw .lineTooLong }
      return nil
    }
    var line = input[start..<end]
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    guard line.count <= FTPReplyReader.longestLine else { throw .lineTooLong }
    start = end + 1
    searched = start
    return Array(line)
  }

  private mutating func take(_ line: [UInt8]) throws(Malformation) -> FTPReply? {
    let head = FTPReplyReader.head(of: line)
    guard var reply = pending else {
      guard let head else { throw .notAReply(line: line) }
      guard head.goesOn else { return FTPReply(code: head.code, lines: [head.text]) }
      pending = (head.code, [head.text], line.count)
      return nil
    }
    // The lines have one owner, so that one more of them is not a copy of all.
    pending = nil
    let isLast = head.map { $0.code == reply.code && !$0.goesOn } ?? false
    // A line in between may begin with anything, also with the code and a hyphen, as many servers do it.
    reply.lines.append(head.flatMap { $0.code == reply.code ? $0.text : nil } ?? line)
    reply.bytes += line.count
    guard reply.lines.count <= FTPReplyReader.mostLines, reply.bytes <= FTPReplyReader.mostBytes else {
      throw .replyTooLong
    }
    guard !isLast else { return FTPReply(code: reply.code, lines: reply.lines) }
    pending = reply
    return nil
  }

  private static func head(of line: [UInt8]) -> (code: Int, goesOn: Bool, text: [UInt8])? {
    let digits = line.prefix(3)
    guard digits.count == 3, let code = Int64(decimalDigits: digits), (100...599).contains(code) else { return nil }
    let rest = line.dropFirst(3)
    switch rest.first {
    // The code alone: some servers leave out the space before a text that they have not got.
    case nil: return (Int(code), false, [])
    case UInt8(ascii: " "): return (Int(code), false, Array(rest.dropFirst()))
    case UInt8(ascii: "-"): return (Int(code), true, Array(rest.dropFirst()))
    default: return nil
    }
  }
}
