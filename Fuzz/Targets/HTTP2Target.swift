import HTTPSemantics
import HTTPTransport
import NIOCore
import NIOHPACK

extension FuzzTarget {
  /// HTTP/2 frames after the server's SETTINGS, and the heads in them.
  static let frames = FuzzTarget("frames") { bytes in
    let (choice, rest) = bytes.choice
    var settings = ByteBuffer()
    HTTP2FrameHeader(length: 0, type: HTTP2FrameType.settings, stream: 0).write(into: &settings)
    let stream = choice & 1 == 0 ? Array(buffer: settings) + rest : rest
    let whole = read([stream[...]])
    for size in Set([1, choice >> 1 + 1]) {
      let pieces = read(stream.pieces(of: size))
      try require(whole == pieces, "in pieces of \(size): \(pieces); at once: \(whole)")
    }
    var decoder = HPACKDecoder(
      allocator: ByteBufferAllocator(), maxDynamicTableSize: HPACKDecoder.maxDynamicTableSize,
      maxHeaderListSize: ResponseLimits.standard.headBytes)
    var keeping = HTTP2ResponseDecoder()
    for frame in whole.frames {
      switch frame {
      case .data(let number, let bytes, let flowControlled, _):
        try require(number > 0 && bytes.readableBytes <= flowControlled, "\(frame)")
      case .headers(_, let block, _, _):
        // The second time its head may be one that was kept.
        for _ in 0..<2 {
          var rest = block
          let list = try? decoder.decodeHeaders(from: &rest)
          let section = try? keeping.decode(block)
          try require(list?.map(\.name) == section?.list.map(\.name), "\(block): other names")
          try require(list?.map(\.value) == section?.list.map(\.value), "\(block): other values")
          guard let list else { return }
          let head = try? HTTP2ResponseFields.head(list)
          try require(section?.head == nil || section?.head == head, "\(block): another head")
          for field in head?.fields.fields ?? [] {
            try require(
              FieldValidation.isFieldName(field.name) && FieldValidation.isFieldValue(field.value), "\(field)")
          }
        }
      default: continue
      }
    }
  }

  private struct Reading: Equatable {
    var frames: [HTTP2Frame] = []
    var error: HTTP2ConnectionError?
  }

  private static func read(_ pieces: [ArraySlice<UInt8>]) -> Reading {
    var limits = HTTP2FrameReader.Limits()
    limits.frameBytes = 512
    limits.blockBytes = 1_024
    limits.continuations = 4
    var reader = HTTP2FrameReader(limits: limits)
    var reading = Reading()
    do throws(HTTP2ConnectionError) {
      for piece in pieces {
        reader.append(ByteBuffer(bytes: piece))
        while let frame = try reader.next() { reading.frames.append(frame) }
      }
    } catch { reading.error = error }
    return reading
  }
}
