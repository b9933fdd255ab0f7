/// Tasks that the app has cancelled and the service is to be told of, so that one message cancels many. A value.
struct GatheredCancellations {
  /// The tasks of one message: few enough that other apps do not wait long for it.
  static let groupLength = 500
  /// Fewer than a service leaves unanswered for one app.
  static let maximumGroups = 4

  /// Whether the service takes such messages; it is asked over each connection.
  var areTaken = true
  private var tasks: [Int] = []
  /// The messages that are not answered.
  private var groupCount = 0

  /// - Returns: whether it is the first one since all were taken.
  mutating func add(_ task: Int) -> Bool {
    tasks.append(task)
    return tasks.count == 1
  }

  /// As many groups as may be sent now; the rest of the tasks waits. A group of one task is a message of the older kind, and
  /// counts as none.
  mutating func groups(of wanted: [Int]) -> [[Int]] {
    tasks = wanted + tasks
    var groups: [[Int]] = []
    var start = 0
    while start < tasks.count, groupCount < GatheredCancellations.maximumGroups {
      let group = Array(tasks[start...].prefix(areTaken ? GatheredCancellations.groupLength : 1))
      start += group.count
      if group.count > 1 { groupCount += 1 }
      groups.append(group)
    }
    tasks.removeFirst(start)
    return groups
  }

  mutating func takeAll() -> [Int] {
    defer { tasks = [] }
    return tasks
  }

  mutating func groupEnded() { groupCount = max(0, groupCount - 1) }
}
