import Foundation
import HTTPSemantics
import NIOCore

/// Undoes one content coding of a body while it is pulled.
///
/// Each pull gives at most `largestPiece` bytes, and between pulls nothing is decoded: a body that grows a thousandfold
/// takes no more memory than another, and its reader sets the pace.
final class DecodingBody: LoadBody, @unchecked Sendable {
  private let source: any LoadBody
  private let coding: ContentCoding
  private let control: LoadControl
  private let url: URL?
  private var decoder: (any ContentDecoder)?
  /// What has been pulled and not decoded.
  private var input = ByteBuffer()
  private var pieceSize = 0
  /// The last piece was full: more may be had without more input.
  private var wasFull = false
  private var isOver = false

  private static let smallestPiece = 4 * 1024
  private static let largestPiece = 256 * 1024

  init(_ source: any LoadBody, coding: ContentCoding, control: LoadControl, url: URL?) {
    self.source = source
    self.coding = coding
    self.control = control
    self.url = url
  }

  func next() async throws -> ByteBuffer? {
    do {
      while !isOver {
        if wasFull {
          // Much out of little input: others have their turn on this loop, and the load can be stopped or held.
          await Task.yield()
          try await control.passGate()
        }
        if input.readableBytes == 0, !wasFull {
          guard let more = try await source.next() else { return try end() }
          input = more
        }
        if let decoder, decoder.isBetweenMembers, let first = input.readableBytesView.first,
          !decoder.beginsMember(first)
        {
          return try await skipPadding()
        }
        if let piece = try decode() { return piece }
      }
      return nil
    } catch let failure as ContentDecodingFailure {
      discard()
      throw ErrorMapping.urlError(ErrorMapping.make(.cannotDecodeRawData, because: failure.sentence), url: url)
    } catch {
      discard()
      throw ErrorMapping.urlError(error, url: url)
    }
  }

  /// The next piece out of what is there; nil when there is none in it.
  private func decode() throws -> ByteBuffer? {
    guard let decoder = try self.decoder ?? coding.makeDecoder() else { return nil }
    self.decoder = decoder
    // Small bodies get small pieces. Where the room was too small, the next piece is larger.
    let wanted = wasFull ? pieceSize * 2 : max(pieceSize, input.readableBytes * 4)
    pieceSize = min(max(wanted, DecodingBody.smallestPiece), DecodingBody.largestPiece)
    let room = pieceSize
    var output = ByteBufferAllocator().buffer(capacity: room)
    let progress = try input.withUnsafeReadableBytes { source throws(ContentDecodingFailure) in
      var progress = ContentDecodingProgress(consumed: 0, produced: 0)
      var failure: ContentDecodingFailure?
      output.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
        do throws(ContentDecodingFailure) {
          progress = try decoder.decode(source, into: UnsafeMutableRawBufferPointer(rebasing: target.prefix(room)))
        } catch { failure = error }
        return progress.produced
      }
      if let failure { throw failure }
      return progress
    }
    input.moveReaderIndex(forwardBy: progress.consumed)
    wasFull = progress.produced == room && !decoder.isBetweenMembers
    return progress.produced > 0 ? output : nil
  }

  private func end() throws(ContentDecodingFailure) -> ByteBuffer? {
    isOver = true
    // An empty body is no truncated one: HEAD and 304 name a coding and carry nothing.
    guard decoder?.isBetweenMembers ?? true else { throw .corrupt("it ends too early") }
    return nil
  }

  /// Zeros, a line end or a trailer of somebody's own behind the last member: dropped, as browsers do. It is read all
  /// the same, for the connection's sake.
  private func skipPadding() async throws -> ByteBuffer? {
    input.clear()
    while try await source.next() != nil {}
    isOver = true
    return nil
  }

  func discard() {
    isOver = true
    decoder = nil
    input = ByteBuffer()
    source.discard()
  }
}
