import Foundation
import Glibc
import NIOCore

/// Gathers a body in memory. Confined to the load's event loop.
///
/// A body of one chunk, the common case of a small answer, is copied once into its `Data`. Larger ones grow in a block
/// that the C library enlarges by moving pages, and that `Data` then takes over without a copy.
final class DataSink: LoadSink, @unchecked Sendable {
  /// Most bytes reserved on the word of a server, whose announced length may be a lie.
  private static let maximumReservation = 64 * 1024 * 1024

  private let loop: any EventLoop
  private let expected: Int64
  private var only: ByteBuffer?
  private var block: UnsafeMutableRawPointer?
  private var capacity = 0
  private var count = 0

  /// - Parameter length: What the response announces, -1 when nothing.
  init(expecting length: Int64, on loop: any EventLoop) {
    expected = length
    self.loop = loop
  }

  deinit { free(block) }

  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws { _ = try accept(chunk) }

  func accept(_ chunk: ByteBuffer) throws -> Bool {
    loop.assertInEventLoop()
    if block == nil {
      guard let first = only else {
        only = chunk
        return true
      }
      only = nil
      let announced = Int(clamping: min(expected, Int64(DataSink.maximumReservation)))
      try reserve(max(announced, first.readableBytes + chunk.readableBytes))
      append(first)
    }
    let needed = count + chunk.readableBytes
    if needed > capacity { try reserve(max(needed, capacity * 2)) }
    append(chunk)
    return true
  }

  func finish(in context: LoadContext) async throws -> Received { finish() }

  /// The body is complete.
  func finish() -> Received {
    loop.assertInEventLoop()
    if let only { return .data(only.withUnsafeReadableBytes { Data($0) }) }
    guard let block else { return .data(Data()) }
    self.block = nil
    // Give back what doubling reserved in excess.
    let fitting = capacity - count > capacity / 8 ? realloc(block, count) ?? block : block
    return .data(Data(bytesNoCopy: fitting, count: count, deallocator: .free))
  }

  func abandon() async {
    loop.assertInEventLoop()
    only = nil
  }

  private func reserve(_ bytes: Int) throws {
    guard let larger = realloc(block, bytes) else {
      throw ErrorMapping.make(.dataLengthExceedsMaximum, because: "The response does not fit into memory.")
    }
    block = larger
    capacity = bytes
  }

  private func append(_ chunk: ByteBuffer) {
    guard let block else { return }
    chunk.withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      (block + count).copyMemory(from: start, byteCount: bytes.count)
    }
    count += chunk.readableBytes
  }
}
