/// Patterns in which `*` stands for any run of characters, none included.
enum Wildcard {
  static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
    var (at, position) = (0, 0)
    var retry: (at: Int, position: Int)?
    while position < text.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        retry = (at + 1, position)
        at += 1
      } else if at < pattern.count, pattern[at] == text[position] {
        at += 1
        position += 1
      } else if let last = retry {
        // The star takes one more character.
        retry = (last.at, last.position + 1)
        (at, position) = (last.at, last.position + 1)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
