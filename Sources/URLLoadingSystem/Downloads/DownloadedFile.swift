import Foundation
import HTTPSemantics
import NIOCore

/// The file of an `NSURLDownload`: made when its first byte is about to come, at the place that the app chooses, and
/// decoded on the way. Confined to the load's event loop.
final class DownloadedFile: DownloadDestination, @unchecked Sendable {
  /// The answers of the app about a file that is to be made.
  struct Choice: Sendable {
    let file: DownloadFile
    let encodings: [FileEncoding]
  }

  private let context: LoadContext
  private let choose: @Sendable () async throws -> Choice
  private var sink: FileSink?
  private var encodings: [FileEncoding] = []
  private var decoding: FileDecoding?
  /// Bytes that were received, before decoding.
  private(set) var received: Int64 = 0

  /// - Parameter choose: asks the app, and makes the file.
  init(in context: LoadContext, choose: @escaping @Sendable () async throws -> Choice) {
    self.context = context
    self.choose = choose
  }

  /// Goes on with a file that holds `count` bytes.
  init(_ file: DownloadFile, at count: Int64, in context: LoadContext) {
    self.context = context
    choose = { throw ErrorMapping.cancelled }
    sink = FileSink(file, at: count, in: context)
    received = count
  }

  /// Whether a later download can go on with the file.
  var canBeResumed: Bool { sink != nil && encodings.isEmpty }

  var file: DownloadFile? { sink?.file }

  func begin(_ representation: DownloadRepresentation) async throws {
    context.loop.assertInEventLoop()
    guard sink == nil else { return }
    let choice = try await choose()
    sink = FileSink(choice.file, at: 0, in: context)
    encodings = choice.encodings
    try startDecoding()
  }

  private func startDecoding() throws {
    guard !encodings.isEmpty else { return }
    do { decoding = try FileDecoding(encodings) } catch { throw urlError(error) }
  }

  func write(_ chunk: ByteBuffer) async throws {
    context.loop.assertInEventLoop()
    received += Int64(chunk.readableBytes)
    guard decoding != nil else { return try await write(decoded: chunk) }
    decoding?.add(Array(chunk.readableBytesView))
    while let piece = try next() {
      if !piece.isEmpty { try await write(decoded: ByteBuffer(bytes: piece)) }
      // Other loads of the loop have their turn.
      await context.executor.turn()
      try context.control.check()
    }
  }

  private func next() throws -> [UInt8]? {
    do { return try decoding?.next() } catch { throw urlError(error) }
  }

  private func write(decoded chunk: ByteBuffer) async throws { try await sink?.write(chunk) }

  func reset() async throws {
    context.loop.assertInEventLoop()
    received = 0
    try await sink?.reset()
    try startDecoding()
  }

  func finish() async throws {
    context.loop.assertInEventLoop()
    if let decoding, !decoding.isComplete { throw urlError(.truncated) }
    try await sink?.finish()
  }

  func sha256() async throws -> Data { try await sink?.sha256() ?? StreamedDigest().value }

  func salvage() async -> Int64 {
    context.loop.assertInEventLoop()
    guard let sink else { return 0 }
    let count = await sink.salvage()
    return encodings.isEmpty ? count : 0
  }

  func abandon() async {
    context.loop.assertInEventLoop()
    await sink?.abandon()
  }

  private func urlError(_ failure: FileDecodingFailure) -> URLError {
    let isStart = failure != .truncated
    return ErrorMapping.make(
      isStart ? .downloadDecodingFailedMidStream : .downloadDecodingFailedToComplete, because: failure.sentence)
  }
}
