import Foundation
import HTTPSemantics
import NIOCore

/// Undoes one content coding of a body while it is pulled.
///
/// Each pull gives at most `largestPiece` bytes, and between pulls nothing is decoded: a body that grows a thousandfold
/// takes no more memory than another, and its reader sets the pace. After `workPerTurn` bytes of output, or as much
/// input without any, the loop has its turn.
final class DecodingFilter: BodyFilter {
  private let coding: ContentCoding
  private let url: URL?
  private var decoder: (any ContentDecoder)?
  /// Bytes that have been taken and not decoded.
  private var input = ByteBuffer()
  private var pieceSize = 0
  /// The last piece was full: more may be had without more input.
  private var wasFull = false
  private var isPadding = false
  private var skippedPadding = 0
  /// Calls of the decoder, and input skipped, since the loop had its turn.
  private var workOfTurn = 0
  private var emptyMembers = 0
  /// Calls in a row that took nothing and gave nothing.
  private var stalls = 0

  private static let smallestPiece = 4 * 1024
  private static let largestPiece = 256 * 1024
  private static let workPerTurn = 512 * 1024
  /// The cost of a call of the decoder beside its bytes.
  private static let workPerCall = 2 * 1024
  /// Members without content, one after the other: more have no honest use.
  private static let mostEmptyMembers = 1_000
  private static let mostStalls = 8
  /// Bytes behind the last member: more are no padding.
  private static let mostPadding = 1024 * 1024

  init(_ coding: ContentCoding, url: URL?) {
    self.coding = coding
    self.url = url
  }

  func take(from source: () throws -> BodyPart) throws -> BodyPart {
    do {
      while true {
        if workOfTurn >= DecodingFilter.workPerTurn {
          workOfTurn = 0
          return .busy
        }
        if input.readableBytes == 0, !wasFull || isPadding {
          switch try source() {
          case .bytes(let more): input = more
          case .end: return try end()
          case .pending:
            workOfTurn = 0
            return .pending
          case .busy: return .busy
          }
        }
        if isPadding || beginsPadding {
          try skipPadding()
        } else if let piece = try decode() {
          return .bytes(piece)
        }
      }
    } catch let failure as ContentDecodingFailure {
      throw ErrorMapping.urlError(ErrorMapping.make(.cannotDecodeRawData, because: failure.sentence), url: url)
    }
  }

  /// The next piece out of what is there; nil when there is none in it.
  private func decode() throws -> ByteBuffer? {
    guard let decoder = try self.decoder ?? coding.makeDecoder() else { return nil }
    self.decoder = decoder
    // Small bodies get small pieces. Where the room was too small, the next piece is larger.
    let wanted = wasFull ? pieceSize * 2 : max(pieceSize, input.readableBytes * 4)
    // Behind members that were empty so far, room for many times the input would be reserved in vain.
    let most = emptyMembers > 0 ? DecodingFilter.smallestPiece : DecodingFilter.largestPiece
    pieceSize = min(max(wanted, DecodingFilter.smallestPiece), most)
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
    workOfTurn += DecodingFilter.workPerCall + progress.produced
    if progress.produced > 0 {
      emptyMembers = 0
      return output
    }
    stalls = progress.consumed == 0 && input.readableBytes > 0 ? stalls + 1 : 0
    guard stalls < DecodingFilter.mostStalls else {
      throw ContentDecodingFailure.corrupt("it can't be decoded further")
    }
    if decoder.isBetweenMembers {
      emptyMembers += 1
      guard emptyMembers <= DecodingFilter.mostEmptyMembers else {
        throw ContentDecodingFailure.corrupt("it has more than \(DecodingFilter.mostEmptyMembers) empty members")
      }
    }
    return nil
  }

  private func end() throws(ContentDecodingFailure) -> BodyPart {
    // An empty body is no truncated one: HEAD and 304 name a coding and carry nothing.
    guard decoder?.isBetweenMembers ?? true else { throw .corrupt("it ends too early") }
    decoder = nil
    return .end
  }

  /// Zeros, a line end or a trailer behind the last member: dropped, as browsers do. It is read all the same, for the
  /// connection's sake.
  private var beginsPadding: Bool {
    guard let decoder, decoder.isBetweenMembers, let first = input.readableBytesView.first else { return false }
    return !decoder.beginsMember(first)
  }

  private func skipPadding() throws(ContentDecodingFailure) {
    isPadding = true
    wasFull = false
    skippedPadding += input.readableBytes
    workOfTurn += DecodingFilter.workPerCall + input.readableBytes
    input.clear()
    guard skippedPadding <= DecodingFilter.mostPadding else {
      throw .corrupt("more than \(DecodingFilter.mostPadding) bytes follow its end")
    }
  }
}
