import HTTPTransport
import NIOCore

/// The bytes of a stored body, or of a part of it, from its file. Confined to the load's event loop.
final class CacheFileReader: AwaitedBody.Reader {
  private let file: CacheFile
  private let loop: any EventLoop
  private let control: LoadControl
  private let record: TransactionRecord?
  private var offset: Int64
  private var end: Int64
  private var beginning: ByteBuffer?
  private let onDamage: () -> Void

  /// - Parameters:
  ///   - beginning: The bytes from `offset` on, as far as they were read already.
  ///   - onDamage: Called once when the file does not hold what was written.
  init(
    _ file: CacheFile, from offset: Int64, to end: Int64, beginningWith beginning: ByteBuffer?,
    record: TransactionRecord?, in context: LoadContext, onDamage: @escaping () -> Void
  ) {
    self.file = file
    self.offset = offset
    self.end = end
    self.beginning = beginning
    self.record = record
    self.onDamage = onDamage
    loop = context.loop
    control = context.control
  }

  func next() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    guard offset < end else {
      record?.fetchEnd = .now()
      return nil
    }
    let bytes: ByteBuffer
    do {
      if let beginning {
        bytes = beginning
      } else {
        bytes = try await loop.blocking { [file, offset, end] in try file.read(from: offset, to: end) }
      }
      beginning = nil
    } catch is CacheFile.Damage {
      // The next load fetches.
      onDamage()
      throw ErrorMapping.make(.cannotOpenFile, because: "The stored body was changed or damaged.")
    }
    offset += Int64(bytes.readableBytes)
    record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
    control.touch()
    return bytes
  }

  /// A read of a file ends by itself.
  func abort(_ error: any Error) {}

  func close() {
    loop.assertInEventLoop()
    offset = end
  }
}
