/// Returns when `value` has stayed the same for longer than `duration`: nothing tells that bytes stay away.
package func stopsMoving(
  _ what: String = "the bytes", for duration: Duration = .milliseconds(300), _ value: () -> Int64
) async throws {
  let clock = ContinuousClock()
  var last = value()
  var since = clock.now
  try await eventually("\(what) to stop") {
    let present = value()
    if present != last {
      last = present
      since = clock.now
    }
    return clock.now - since > duration
  }
}
