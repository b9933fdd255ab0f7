/// Properties of a task that the app may change at any time.
struct TaskHints: Equatable, Sendable {
  var taskDescription: String?
  var priority: Float
}
