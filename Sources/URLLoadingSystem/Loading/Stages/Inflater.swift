import CZlib
import NIOCore

/// zlib's inflate over byte buffers. Confined to one load.
final class Inflater {
  private let stream: UnsafeMutablePointer<z_stream>
  private let allowsMembers: Bool
  /// Nothing of a (further) member has been read: a body may end here.
  private(set) var isBetweenMembers = true
  private var memberCount = 0

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  init?(windowBits: Int32, allowsMembers: Bool) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    self.allowsMembers = allowsMembers
    let status = inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      stream.deinitialize(count: 1)
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Whether `bytes` can begin the first member or, after one, another.
  func startsMember(_ bytes: ByteBuffer) -> Bool {
    guard memberCount > 0 else { return true }
    return allowsMembers && bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) == 0x1f
  }

  /// Moves `input` through the decoder until it is used up, `output` holds `limit` bytes, or a member ends.
  func inflate(_ input: inout ByteBuffer, into output: inout ByteBuffer, limit: Int) throws {
    if isBetweenMembers, memberCount > 0 { inflateReset(stream) }
    isBetweenMembers = false
    var status = Z_OK
    let space = limit - output.readableBytes
    input.readWithUnsafeMutableReadableBytes { source in
      let base = source.bindMemory(to: UInt8.self)
      stream.pointee.next_in = base.baseAddress
      stream.pointee.avail_in = UInt32(clamping: base.count)
      let offered = Int(stream.pointee.avail_in)
      output.writeWithUnsafeMutableBytes(minimumWritableBytes: space) { target in
        let room = target.bindMemory(to: UInt8.self)
        stream.pointee.next_out = room.baseAddress
        stream.pointee.avail_out = UInt32(clamping: space)
        status = CZlib.inflate(stream, Z_NO_FLUSH)
        return space - Int(stream.pointee.avail_out)
      }
      return offered - Int(stream.pointee.avail_in)
    }
    switch status {
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END:
      isBetweenMembers = true
      memberCount += 1
    default:
      throw Failure(description: stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(status)")
    }
  }
}
