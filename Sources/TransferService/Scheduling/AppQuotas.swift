import SystemServices

/// How much of the service one app may take. How many tasks and sessions it may have is in the engine's settings.
package struct AppQuotas: Sendable, Equatable {
  /// Bytes of parts, of finished files that the app has not taken, and of copies of files that are to be sent.
  package var diskBytes: Int64 = 256 << 30
  /// Bytes of the records of tasks in the queue: descriptions, heads of responses, ends, and history.
  package var queueBytes: Int64 = 256 << 20

  package init() {}
}

/// The usage of one app, as it was counted last.
struct AppUsage: Sendable, Equatable {
  private var queueBytes: Int64?
  private var queueCounted: BootInstant?
  private var diskBytes: Int64?
  private var counted: BootInstant?

  /// Seconds that a count of bytes on the disk is good for.
  private static let age: Double = 5

  /// Seconds that a count of bytes in the queue is good for. Heads of responses and ends are added without being counted.
  private static let queueAge: Double = 30

  /// New descriptions were added since they were counted.
  mutating func addQueueBytes(_ count: Int64) { queueBytes = queueBytes?.saturatingAdd(count) }

  mutating func counted(queueBytes: Int64, at now: BootInstant) {
    if self.queueBytes != queueBytes { (self.queueBytes, queueCounted) = (queueBytes, now) }
  }

  /// - Parameter count: Counts all of them.
  mutating func queueBytes(at now: BootInstant, counting count: () throws -> Int64) rethrows -> Int64 {
    if let queueBytes, let queueCounted, now - queueCounted < AppUsage.queueAge { return queueBytes }
    let result = try count()
    (queueBytes, queueCounted) = (result, now)
    return result
  }

  /// - Parameter count: Counts all of them.
  mutating func diskBytes(at now: BootInstant, counting count: () throws -> Int64) rethrows -> Int64 {
    if let diskBytes, let counted, now - counted < AppUsage.age { return diskBytes }
    let result = try count()
    (diskBytes, counted) = (result, now)
    return result
  }

  /// Files were copied since they were counted.
  mutating func addDiskBytes(_ count: Int64) { diskBytes = diskBytes?.saturatingAdd(count) }
}
