extension AsyncSequence where Element == UInt8 {
  /// The text of these bytes, line by line.
  public var lines: AsyncLineSequence<Self> { AsyncLineSequence(self) }

  /// The text of these bytes, character by character.
  public var characters: AsyncCharacterSequence<Self> { AsyncCharacterSequence(self) }

  /// The text of these bytes, Unicode scalar by Unicode scalar.
  public var unicodeScalars: AsyncUnicodeScalarSequence<Self> { AsyncUnicodeScalarSequence(self) }
}

/// The lines of UTF-8 text, without what ends them.
///
/// A line ends at LF, VT, FF, CR, CR LF, NEL (U+0085), LS (U+2028) or PS (U+2029). Empty lines are left out, as on
/// Apple's systems. Bytes that are not UTF-8 become U+FFFD.
public struct AsyncLineSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
  public typealias Element = String

  @usableFromInline let base: Base

  @inlinable
  init(_ base: Base) { self.base = base }

  @inlinable
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base.makeAsyncIterator()) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    @usableFromInline var bytes: Base.AsyncIterator
    @usableFromInline var line: [UInt8] = []
    @usableFromInline var isAfterReturn = false

    @inlinable
    init(_ bytes: Base.AsyncIterator) { self.bytes = bytes }

    /// The next line that is not empty; nil at the end of the bytes.
    @inlinable
    @concurrent public mutating func next() async rethrows -> String? {
      while let byte = try await bytes.next() {
        let isAfterReturn = self.isAfterReturn
        self.isAfterReturn = false
        switch byte {
        case 0x0A where isAfterReturn: continue
        case 0x0A...0x0D:
          self.isAfterReturn = byte == 0x0D
          if let line = take(dropping: 0) { return line }
        case 0x85:
          // NEL is C2 85.
          line.append(byte)
          if line.suffix(2) == [0xC2, 0x85], let line = take(dropping: 2) { return line }
        case 0xA8, 0xA9:
          // LS is E2 80 A8, PS is E2 80 A9.
          line.append(byte)
          if line.suffix(3).starts(with: [0xE2, 0x80]), let line = take(dropping: 3) { return line }
        default: line.append(byte)
        }
      }
      return take(dropping: 0)
    }

    /// The bytes that were gathered, less its last `count` bytes; nil when nothing is left.
    @usableFromInline
    mutating func take(dropping count: Int) -> String? {
      defer { line.removeAll(keepingCapacity: true) }
      line.removeLast(count)
      return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }
  }
}

extension AsyncLineSequence: Sendable where Base: Sendable {}
extension AsyncLineSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}
