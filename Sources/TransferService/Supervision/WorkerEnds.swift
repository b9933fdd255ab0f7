/// How the workers of a supervisor ended, as far as the next one has to know it. A value.
///
/// A worker counts crashes before it serves. So one that could not be started, or ended by itself before it served, says nothing of
/// transfers, and may have counted nothing: the next one is told of the end before it.
package struct WorkerEnds: Sendable {
  /// nil before there was one.
  package private(set) var last: WorkerEnd?
  /// Whether the present worker has given a sign of life.
  private var hasServed = false

  package init() {}

  /// A worker is started, or could not be.
  package mutating func begin() { hasServed = false }

  package mutating func serves() { hasServed = true }

  /// The worker ended.
  ///
  /// - Parameters: as those of `WorkerEnd`.
  package mutating func ended(signal: Int32?, hung: Bool, ranOutOfMemory: Bool?) {
    guard hasServed || signal != nil else { return }
    last = WorkerEnd(signal: signal, hung: hung, ranOutOfMemory: ranOutOfMemory)
  }
}
