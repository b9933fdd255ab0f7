import SystemServices

/// How much of the service one app may take. How many tasks and sessions it may have is in the engine's settings.
package struct AppQuotas: Sendable, Equatable {
  /// Bytes of parts, of finished files that the app has not taken, and of copies of files that are to be sent.
  package var diskBytes: Int64 = 256 << 30
  /// Bytes of the records of tasks in the queue: descriptions, heads of responses, ends, and history.
  package var queueBytes: Int64 = 256 << 20

  package init() {}
}

/// The bytes of one app in the queue, as they were counted last.
struct AppUsage: Sendable, Equatable {
  private var queueBytes: Int64?
  private var queueCounted: BootInstant?
  /// Bytes of all descriptions that were added.
  private var addedQueueBytes: Int64 = 0

  /// Seconds that a count of bytes in the queue is good for. Heads of responses and ends are added without being counted.
  private static let queueAge: Double = 30

  /// New descriptions are being added.
  ///
  /// - Returns: the bytes of all that were added, with these.
  mutating func addQueueBytes(_ count: Int64) -> Int64 {
    queueBytes = queueBytes?.saturatingAdd(count)
    addedQueueBytes = addedQueueBytes.saturatingAdd(count)
    return addedQueueBytes
  }

  /// - Parameter added: What `addQueueBytes` has returned for the last descriptions that were counted. Those that were added
  ///   later are not among them.
  mutating func counted(queueBytes: Int64, withAdded added: Int64, at now: BootInstant) {
    (self.queueBytes, queueCounted) = (queueBytes.saturatingAdd(addedQueueBytes - added), now)
  }

  /// nil where they were not counted lately.
  func queueBytes(at now: BootInstant) -> Int64? {
    guard let queueBytes, let queueCounted, now - queueCounted < AppUsage.queueAge else { return nil }
    return queueBytes
  }
}
