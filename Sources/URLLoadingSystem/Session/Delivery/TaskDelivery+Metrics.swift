import Foundation

extension TaskDelivery {
  /// Posts the task's metrics, which are made only for a delegate that may implement the method.
  func postMetrics(of task: URLSessionTask, transactions: [TransactionRecord]) {
    // A task that goes on with another one's work has transactions from before it was made.
    let anchor = transactions.first?.anchor ?? task.creation
    let metrics = URLSessionTaskMetrics(
      transactions: transactions, taskInterval: DateInterval(start: anchor.date, end: anchor.date(of: .now())))
    post(.metrics) { [session] in $0.task?.urlSession(session, task: task, didFinishCollecting: metrics) }
  }
}
