import Foundation

extension URL {
  /// The bytes of the resource, loaded by the shared session when iteration begins.
  public var resourceBytes: AsyncBytes { AsyncBytes(url: self) }

  /// The lines of the resource, taken as UTF-8 text and loaded by the shared session when iteration begins.
  public var lines: AsyncLineSequence<AsyncBytes> { resourceBytes.lines }

  /// The bytes of a resource. Each iterator loads it anew.
  public struct AsyncBytes: AsyncSequence, Sendable {
    public typealias Element = UInt8

    let url: URL

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(url: url) }

    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
      private let url: URL
      @usableFromInline var bytes: URLSession.AsyncBytes.Iterator?

      init(url: URL) { self.url = url }

      /// The next byte; nil at the end.
      /// - Throws: A `URLError`.
      @inlinable
      public mutating func next() async throws -> UInt8? {
        if bytes == nil { try await start() }
        return try await bytes?.next()
      }

      @usableFromInline
      mutating func start() async throws {
        bytes = try await URLSession.shared.bytes(from: url).0.makeAsyncIterator()
      }
    }
  }
}
