/// The characters, that is grapheme clusters, of UTF-8 text.
public struct AsyncCharacterSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
  public typealias Element = Character

  @usableFromInline let base: Base

  @inlinable
  init(_ base: Base) { self.base = base }

  @inlinable
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(AsyncUnicodeScalarSequence(base).makeAsyncIterator())
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    @usableFromInline var scalars: AsyncUnicodeScalarSequence<Base>.AsyncIterator
    /// The beginning of the next character.
    @usableFromInline var gathered = ""

    @inlinable
    init(_ scalars: AsyncUnicodeScalarSequence<Base>.AsyncIterator) { self.scalars = scalars }

    /// The next character; nil at the end of the bytes. A character is known to be complete only when the next one
    /// has begun.
    @inlinable
    @concurrent public mutating func next() async rethrows -> Character? {
      while let scalar = try await scalars.next() {
        gathered.unicodeScalars.append(scalar)
        guard gathered.count > 1 else { continue }
        return gathered.removeFirst()
      }
      return gathered.isEmpty ? nil : gathered.removeFirst()
    }
  }
}

extension AsyncCharacterSequence: Sendable where Base: Sendable {}
extension AsyncCharacterSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}
