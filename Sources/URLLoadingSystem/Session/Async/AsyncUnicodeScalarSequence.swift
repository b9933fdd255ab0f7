/// The Unicode scalars of UTF-8 text. What is not UTF-8 becomes U+FFFD, one for each maximal invalid part, as `String`
/// does it.
public struct AsyncUnicodeScalarSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
  public typealias Element = UnicodeScalar

  @usableFromInline let base: Base

  @inlinable
  init(_ base: Base) { self.base = base }

  @inlinable
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base.makeAsyncIterator()) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    @usableFromInline var bytes: Base.AsyncIterator
    /// A byte that was read but belongs to the next scalar.
    @usableFromInline var leftover: UInt8?

    @inlinable
    init(_ bytes: Base.AsyncIterator) { self.bytes = bytes }

    /// The next scalar; nil at the end of the bytes.
    @inlinable
    @concurrent public mutating func next() async rethrows -> UnicodeScalar? {
      let first: UInt8
      if let leftover {
        self.leftover = nil
        first = leftover
      } else if let byte = try await bytes.next() {
        first = byte
      } else {
        return nil
      }
      if first < 0x80 { return UnicodeScalar(first) }
      guard var sequence = UTF8Sequence(first) else { return "\u{FFFD}" }
      while !sequence.isComplete {
        guard let byte = try await bytes.next() else { return "\u{FFFD}" }
        guard sequence.append(byte) else {
          leftover = byte
          return "\u{FFFD}"
        }
      }
      return UnicodeScalar(sequence.value) ?? "\u{FFFD}"
    }
  }
}

/// A multi-byte sequence being put together: table 3-7 of the Unicode standard, "well-formed UTF-8 byte sequences".
@usableFromInline
struct UTF8Sequence {
  @usableFromInline private(set) var value: UInt32
  private var missing: Int
  /// The range of the second byte: narrower than usual after E0, ED, F0 and F4.
  private var allowed: ClosedRange<UInt8>

  @usableFromInline var isComplete: Bool { missing == 0 }

  /// nil when no sequence begins with `first`.
  @usableFromInline
  init?(_ first: UInt8) {
    switch first {
    case 0xC2...0xDF: (missing, value) = (1, UInt32(first & 0x1F))
    case 0xE0...0xEF: (missing, value) = (2, UInt32(first & 0x0F))
    case 0xF0...0xF4: (missing, value) = (3, UInt32(first & 0x07))
    default: return nil
    }
    switch first {
    case 0xE0: allowed = 0xA0...0xBF
    case 0xED: allowed = 0x80...0x9F
    case 0xF0: allowed = 0x90...0xBF
    case 0xF4: allowed = 0x80...0x8F
    default: allowed = 0x80...0xBF
    }
  }

  /// False when `byte` can't follow.
  @usableFromInline
  mutating func append(_ byte: UInt8) -> Bool {
    guard allowed.contains(byte) else { return false }
    value = value << 6 | UInt32(byte & 0x3F)
    missing -= 1
    allowed = 0x80...0xBF
    return true
  }
}

extension AsyncUnicodeScalarSequence: Sendable where Base: Sendable {}
extension AsyncUnicodeScalarSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}
