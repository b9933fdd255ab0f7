/// JSON with a line for each value, as `JSONEncoder` lays it out where it is to be read by people.
enum JSONLayout {
  /// - Parameters:
  ///   - json: One value, without spaces between its parts.
  ///   - depth: How many values lie around it.
  static func lines(of json: [UInt8], depth: Int = 0) -> [UInt8] {
    var depth = depth
    var lines: [UInt8] = []
    lines.reserveCapacity(json.count * 2)
    var (isInString, isEscaped, isOpen) = (false, false, false)

    func beginLine() {
      lines.append(UInt8(ascii: "\n"))
      indent()
    }
    func indent() { for _ in 0..<depth { lines.append(contentsOf: "  ".utf8) } }

    for byte in json {
      if isInString {
        lines.append(byte)
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else {
          isInString = byte != UInt8(ascii: "\"")
        }
        continue
      }
      let isEnd = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
      if isOpen, !isEnd { indent() }
      isOpen = false
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        lines.append(byte)
        lines.append(UInt8(ascii: "\n"))
        (depth, isOpen) = (depth + 1, true)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth = max(0, depth - 1)
        beginLine()
        lines.append(byte)
      case UInt8(ascii: ","):
        lines.append(byte)
        beginLine()
      case UInt8(ascii: ":"): lines.append(contentsOf: " : ".utf8)
      default:
        lines.append(byte)
        isInString = byte == UInt8(ascii: "\"")
      }
    }
    return lines
  }
}
