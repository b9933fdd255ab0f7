/// An action on its way to a Swift task of the event loop that it was made on and is run on.
package struct LoopAction: @unchecked Sendable {
  // Sendable by hand: `LoopExecutor` runs the tasks that carry it on one loop; the action's own types assert theirs.
  private let action: () -> Void

  package init(_ action: @escaping () -> Void) { self.action = action }

  package func run() { action() }
}
