#if HTTP3
import NIOCore

/// Datagrams that leave together. Those of one size and mark become one write, which the kernel cuts (UDP_SEGMENT), where
/// it can; the last of them may be shorter.
struct QUICBurst {
  private let channel: any Channel
  private let remote: SocketAddress
  private let batchBytes: Int
  private let cuts: Bool
  private var batch = ByteBuffer()
  private var segment = 0
  private var mark: UInt32 = 0
  private var hasWritten = false

  /// Room for a datagram of the largest size, or for a short one and what is tried behind it.
  private static let smallBytes = 2 * 1024

  /// The largest number of pieces that the kernel makes of one write.
  private static let mostSegments = 60

  init(channel: any Channel, remote: SocketAddress, batchBytes: Int) {
    self.channel = channel
    self.remote = remote
    self.batchBytes = batchBytes
    cuts = QUICSocket.cutsWrites
  }

  /// Adds the datagram that `write` puts into the space it is given. Returns how many bytes that were, or less than 1 as
  /// `write` has returned it.
  mutating func append(_ write: (UnsafeMutableRawBufferPointer, inout UInt32) -> Int) -> Int {
    let largest = QUICSocket.largestDatagram
    // Most bursts of a download are one acknowledgement: room for many datagrams is made for the second of them.
    if batch.capacity == 0 {
      batch = channel.allocator.buffer(capacity: QUICBurst.smallBytes)
    } else if batch.writableBytes < largest {
      batch.reserveCapacity(batchBytes)
    }
    let start = batch.writerIndex
    var ecn: UInt32 = 0
    var written = 0
    batch.writeWithUnsafeMutableBytes(minimumWritableBytes: largest) { space in
      written = write(UnsafeMutableRawBufferPointer(rebasing: space[..<largest]), &ecn)
      return max(0, written)
    }
    guard written > 0 else { return written }
    let count = start - batch.readerIndex
    if count > 0, written > segment || ecn != mark {
      // It does not fit behind the others.
      let last = batch.getSlice(at: start, length: written) ?? ByteBuffer()
      batch.moveWriterIndex(to: start)
      send()
      batch = channel.allocator.buffer(capacity: batchBytes)
      batch.writeImmutableBuffer(last)
      segment = written
      mark = ecn
    } else if count == 0 {
      segment = written
      mark = ecn
    }
    let isFull = batch.readableBytes + largest > batchBytes || batch.readableBytes >= segment * QUICBurst.mostSegments
    if !cuts || written < segment || isFull { send() }
    return written
  }

  mutating func flush() {
    send()
    if hasWritten { channel.flush() }
    hasWritten = false
  }

  private mutating func send() {
    guard batch.readableBytes > 0 else { return }
    hasWritten = true
    let isOne = batch.readableBytes <= segment
    let metadata = AddressedEnvelope<ByteBuffer>.Metadata(
      ecnState: QUICBurst.state(mark), packetInfo: nil, segmentSize: isOne ? nil : segment)
    channel.write(AddressedEnvelope(remoteAddress: remote, data: batch, metadata: metadata), promise: nil)
    batch = ByteBuffer()
    segment = 0
  }

  // MARK: ECN

  /// The bits of RFC 3168 §5.
  static func bits(_ state: NIOExplicitCongestionNotificationState) -> UInt32 {
    switch state {
    case .transportNotCapable: 0
    case .transportCapableFlag1: 1
    case .transportCapableFlag0: 2
    case .congestionExperienced: 3
    }
  }

  private static func state(_ bits: UInt32) -> NIOExplicitCongestionNotificationState {
    switch bits & 3 {
    case 1: .transportCapableFlag1
    case 2: .transportCapableFlag0
    case 3: .congestionExperienced
    default: .transportNotCapable
    }
  }
}
#endif
