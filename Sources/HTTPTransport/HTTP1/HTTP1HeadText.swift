/// Text on its way into memory that is large enough for it: one pass over the strings, where a buffer would look at its
/// storage anew for each of them.
struct HTTP1HeadText {
  private let memory: UnsafeMutableRawBufferPointer
  /// How many bytes were written.
  private(set) var count = 0

  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  mutating func append(_ text: String) {
    let length = text.utf8.count
    precondition(length <= memory.count - count, "The memory is too small for the head.")
    let target = UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + length])
    let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable { target.copyMemory(from: .init($0)) }
    // A string that is not stored in one piece.
    if isCopied == nil { target.copyBytes(from: text.utf8) }
    count += length
  }
}
