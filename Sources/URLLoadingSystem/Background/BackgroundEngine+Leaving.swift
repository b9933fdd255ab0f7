extension URLSession {
  /// Leaves the tasks of a background session to the transfer service, as the end of the process would: the delegate hears no
  /// more of them, and the session's connection is closed. What the delegate is being told at the moment is told to its end
  /// first. Call it when `flush` has told that the service has the tasks. No effect on other sessions.
  package func leaveTasks() { (engine as? BackgroundEngine)?.leaveTasks() }
}

extension BackgroundEngine {
  /// From any thread.
  func leaveTasks() {
    onLoop { engine in
      engine.isLeaving = true
      engine.leaveWhenIdle()
    }
  }

  /// An event whose acknowledgement is not confirmed would go to another process as well, and two would handle it at a time. Where
  /// the acknowledgement is refused for good, the event was handled here, and goes to another process in any case.
  func leaveWhenIdle() {
    assertConfined()
    guard isLeaving, inbox.isSettled, link.purpose == .serveTasks else { return }
    decide(.end)
  }
}
