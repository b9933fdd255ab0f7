import NIOSSL
import Testing

@testable import HTTPTransport

@Suite struct LibraryHandlesTests {
  private final class Pair {
    var first: UnsafeMutableRawPointer?
    var second: UnsafeMutableRawPointer?
  }

  /// The first handler is looked into by a mirror, the others are not.
  @Test func eachHandlerHasItsOwnHandle() throws {
    let context = try NIOSSLContext(configuration: .makeClientConfiguration())
    let handlers = try (0..<4).map { _ in try NIOSSLClientHandler(context: context, serverHostname: nil) }
    let handles = try handlers.map { try #require(LibraryHandles.connection($0)) }
    #expect(Set(handles).count == handlers.count)
    #expect(handlers.map { LibraryHandles.connection($0) } == handles)
  }

  @Test func aPlaceIsFoundOnlyWhereOneWordHasTheValue() throws {
    let values = (1...3).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16) }
    defer { for value in values { value.deallocate() } }
    let pair = Pair()
    (pair.first, pair.second) = (values[0], values[1])
    let second = try #require(LibraryHandles.Place(of: values[1], in: pair))
    #expect(LibraryHandles.Place(of: values[2], in: pair) == nil)
    pair.second = values[2]
    #expect(second.value(in: Unmanaged.passUnretained(pair).toOpaque()) == values[2])
    pair.first = values[2]
    #expect(LibraryHandles.Place(of: values[2], in: pair) == nil)
  }
}
