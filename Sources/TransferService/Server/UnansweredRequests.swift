import TransferProtocol

/// The requests of a connection that are not answered, by the numbers that the app gave them.
struct UnansweredRequests {
  /// An app may use a number again.
  private var lengths: [UInt64: [Int]] = [:]
  private(set) var count = 0
  private(set) var byteCount = 0

  private static let maximumCount = 32
  /// One request of the longest kind; the one that passes the limit is the last that is read.
  var maximumByteCount = MessageFraming.maximumLength

  /// Whether further requests are read.
  var allowMore: Bool {
    count < UnansweredRequests.maximumCount && byteCount < maximumByteCount
  }

  mutating func add(_ request: UInt64, length: Int) {
    lengths[request, default: []].append(length)
    count += 1
    byteCount += length
  }

  /// The first request of that number is answered.
  mutating func remove(_ request: UInt64) {
    guard var first = lengths[request], !first.isEmpty else { return }
    byteCount -= first.removeFirst()
    count -= 1
    lengths[request] = first.isEmpty ? nil : first
  }
}
