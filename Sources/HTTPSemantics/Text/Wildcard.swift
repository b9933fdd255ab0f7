/// Patterns in which `*` stands for any run of bytes, none included.
enum Wildcard {
  /// Whether the pattern means the whole text, in time proportional to the product of their lengths at most.
  ///
  /// - Parameter step: the place in the pattern behind what stands at a place that is no `*` and is inside of the
  ///   pattern, if that means the byte; nil if it does not. When nothing is said, each byte of the pattern means itself.
  static func matches(
    _ pattern: [UInt8], _ text: [UInt8],
    step: (_ pattern: [UInt8], _ at: Int, _ byte: UInt8) -> Int? = { $0[$1] == $2 ? $1 + 1 : nil }
  ) -> Bool {
    var (at, position) = (0, 0)
    var retry: (at: Int, position: Int)?
    while position < text.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        retry = (at + 1, position)
        at += 1
      } else if at < pattern.count, let next = step(pattern, at, text[position]) {
        at = next
        position += 1
      } else if let last = retry {
        // The star takes one more byte.
        retry = (last.at, last.position + 1)
        (at, position) = (last.at, last.position + 1)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
