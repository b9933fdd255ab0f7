/// A wait that did not end in time: the test's answer to a hang.
package struct WaitExpired: Error, CustomStringConvertible {
  package let what: String
  package let limit: Duration
  package var description: String { "waited \(limit) for \(what)" }
}

/// How long a test waits for something that should happen at once. Long, because it only passes in a failing test
/// and the machine may be busy.
package let patience: Duration = .seconds(90)

/// Runs `operation`, which must obey cancellation, for at most `limit`; throws ``WaitExpired`` naming `what` otherwise.
package func within<Value: Sendable>(
  _ limit: Duration = patience, _ what: String, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    defer { group.cancelAll() }
    group.addTask { try await operation() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw WaitExpired(what: what, limit: limit)
    }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}

/// Asks `condition` again and again until it holds, for at most `limit`; throws ``WaitExpired`` naming `what` otherwise.
///
/// The only polling a test may do, and only for what happens in another process (a file it writes, a port it opens):
/// whatever happens in this process has a ``Gate``, a ``Recorder`` or a ``Monitor`` to wait for.
package func eventually(
  _ what: String, within limit: Duration = patience, every interval: Duration = .milliseconds(10),
  _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while true {
    if try await condition() { return }
    guard ContinuousClock.now < deadline else { throw WaitExpired(what: what, limit: limit) }
    try await Task.sleep(for: interval)
  }
}
