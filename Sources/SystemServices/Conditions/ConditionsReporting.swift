/// Reports the conditions of the machine. The system's is ``MachineConditionsMonitor``; tests make their own.
package protocol ConditionsReporting: AnyObject, Sendable {
  /// nil before `start`, until they were read, and after `stop`.
  var conditions: MachineConditions? { get }
  /// Calls `changed`, on any thread, when they were read, and after each change until `stop`.
  func start(_ changed: @escaping @Sendable () -> Void)
  func stop()
}
