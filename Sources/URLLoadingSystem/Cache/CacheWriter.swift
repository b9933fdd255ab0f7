import HTTPSemantics
import NIOCore

/// Collects the body of a response that is to be stored: in memory as long as it is small, then in a file. Confined to
/// the load's event loop. One that is not finished leaves nothing.
final class CacheWriter {
  enum Collected {
    case bytes(ByteBuffer)
    case file(CacheSpill, length: Int64)

    var length: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.readableBytes)
      case .file(_, let length): length
      }
    }
  }

  let id = Int64.random(in: 1 ... .max)
  let loop: any EventLoop
  private let limits: CacheLimits
  private let disk: DiskCache?
  private var chunks: [ByteBuffer] = []
  private var spill: CacheSpill?
  private var length = 0
  private(set) var isAbandoned = false

  init(limits: CacheLimits, disk: DiskCache?, on loop: any EventLoop) {
    self.loop = loop
    self.limits = limits
    self.disk = disk
  }

  deinit { spill?.abandon() }

  func append(_ bytes: ByteBuffer) {
    loop.assertInEventLoop()
    guard !isAbandoned else { return }
    length += bytes.readableBytes
    guard length <= limits.largestBody else { return abandon() }
    if let spill {
      if !spill.append(bytes) { abandon() }
      return
    }
    // A small piece of a large buffer would hold all of it.
    chunks.append(bytes.readableBytes * 2 < bytes.capacity ? ByteBuffer(bytes: bytes.readableBytesView) : bytes)
    guard length > limits.largestInMemory, let disk else { return }
    let spill = CacheSpill(id, on: disk)
    self.spill = spill
    for chunk in chunks where !spill.append(chunk) { abandon() }
    chunks = []
  }

  /// The body, once; nil when it was too long.
  func finish() -> Collected? {
    loop.assertInEventLoop()
    guard !isAbandoned else { return nil }
    isAbandoned = true
    if let spill {
      self.spill = nil
      return .file(spill, length: Int64(length))
    }
    guard var bytes = chunks.first else { return .bytes(ByteBuffer()) }
    if chunks.count > 1 {
      bytes = ByteBufferAllocator().buffer(capacity: length)
      for var chunk in chunks { bytes.writeBuffer(&chunk) }
    }
    chunks = []
    return .bytes(bytes)
  }

  func abandon() {
    loop.assertInEventLoop()
    isAbandoned = true
    chunks = []
    spill?.abandon()
    spill = nil
  }
}

/// How large a body may be, in bytes.
struct CacheLimits: Sendable {
  /// To be stored at all.
  var largestBody: Int
  /// To be kept in memory while it arrives.
  var largestInMemory: Int
}
