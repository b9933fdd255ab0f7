/// Tells when the machine is about to sleep, and when it has woken. The system's is ``SleepMonitor``; tests make their own.
package protocol SleepReporting: AnyObject, Sendable {
  /// Calls `changed`, on any thread, until `stop`.
  func start(_ changed: @escaping @Sendable (SleepChange) -> Void)
  func stop()
}

package enum SleepChange: Sendable {
  /// The machine is about to sleep. Where it can be asked to wait for that, it does until `ready` is called, a few seconds at
  /// most.
  case falls(ready: @Sendable () -> Void)
  case ended
}
