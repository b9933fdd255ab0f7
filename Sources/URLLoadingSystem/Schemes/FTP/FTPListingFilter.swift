import HTTPSemantics
import NIOCore

/// Makes lines of `ls -l` out of an FTP server's listing while it is pulled. Confined to the load's event loop.
final class FTPListingFilter: BodyFilter {
  private let loop: any EventLoop
  private var reader: FTPListingReader
  /// Bytes that have been taken and not read.
  private var input = ByteBuffer()
  private var isOver = false

  /// Bytes that are read in one pull, at most: a line can be many times as long as what it is made of.
  private static let bytesPerPull = 16 * 1024

  /// - Parameter now: In seconds since 1970.
  init(_ form: FTPListingReader.Form, at now: Int64, on loop: any EventLoop) {
    self.loop = loop
    reader = FTPListingReader(form, at: now)
  }

  func take(from source: () throws -> BodyPart) throws -> BodyPart {
    loop.assertInEventLoop()
    guard !isOver else { return .end }
    while true {
      if let slice = input.readSlice(length: min(input.readableBytes, FTPListingFilter.bytesPerPull)),
        slice.readableBytes > 0
      {
        let lines = reader.read(slice.readableBytesView)
        if !lines.isEmpty { return .bytes(ByteBuffer(bytes: lines)) }
        continue
      }
      switch try source() {
      case .bytes(let more): input = more
      case .end:
        isOver = true
        let lines = reader.finish()
        return lines.isEmpty ? .end : .bytes(ByteBuffer(bytes: lines))
      case .pending: return .pending
      case .busy: return .busy
      }
    }
  }
}
