import Foundation

extension TaskDelivery {
  /// Posts the task's metrics, made only now that somebody may want them.
  func postMetrics(of task: URLSessionTask, transactions: [TransactionRecord]) {
    let metrics = URLSessionTaskMetrics(
      transactions: transactions,
      taskInterval: DateInterval(start: MonotonicDates.date(task.creation), end: MonotonicDates.date(.now())))
    post(.metrics) { [session] in $0.task?.urlSession(session, task: task, didFinishCollecting: metrics) }
  }
}
