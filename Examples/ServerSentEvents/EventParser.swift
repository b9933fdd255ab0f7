/// Reads the event stream of the HTML standard (section 9.2.6), byte by byte.
///
/// `bytes.lines` is not enough for it: that leaves out empty lines, which end events.
struct EventParser {
  struct Event: Equatable {
    var id: String?
    var name = "message"
    var data = ""
  }

  /// What to send as Last-Event-ID after a connection has ended.
  private(set) var lastEventID: String?
  /// How long to wait before the next connection.
  private(set) var retryMilliseconds = 3000

  private var line: [UInt8] = []
  private var endedWithCarriageReturn = false
  private var isFirstLine = true
  private var id: String?
  private var name = ""
  private var data: [String] = []

  /// Returns the event that ends with `byte`, if one does.
  mutating func feed(_ byte: UInt8) -> Event? {
    defer { endedWithCarriageReturn = byte == UInt8(ascii: "\r") }
    switch byte {
    case UInt8(ascii: "\n") where endedWithCarriageReturn: return nil
    case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
      var text = String(decoding: line, as: UTF8.self)
      line.removeAll(keepingCapacity: true)
      if isFirstLine, text.hasPrefix("\u{FEFF}") { text.removeFirst() }
      isFirstLine = false
      return read(text)
    default:
      line.append(byte)
      return nil
    }
  }

  /// An event that was not complete is dropped: the server sends it again.
  mutating func endOfStream() {
    line = []
    data = []
    name = ""
    id = lastEventID
    isFirstLine = true
    endedWithCarriageReturn = false
  }

  private mutating func read(_ line: String) -> Event? {
    if line.isEmpty { return dispatch() }
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    var value = parts.count == 2 ? parts[1] : ""
    if value.hasPrefix(" ") { value.removeFirst() }
    switch parts[0] {
    case "data": data.append(String(value))
    case "event": name = String(value)
    case "id" where !value.contains("\0"): id = String(value)
    case "retry" where value.allSatisfy { $0.isASCII && $0.isNumber }:
      retryMilliseconds = Int(value) ?? retryMilliseconds
    // A comment, or a field that is not known.
    default: break
    }
    return nil
  }

  private mutating func dispatch() -> Event? {
    defer {
      data = []
      name = ""
    }
    lastEventID = id
    guard !data.isEmpty else { return nil }
    return Event(id: id, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
  }
}
