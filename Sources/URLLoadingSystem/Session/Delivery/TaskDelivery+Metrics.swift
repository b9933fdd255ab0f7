import Foundation

extension TaskDelivery {
  /// Posts the task's metrics, made only now that somebody may want them.
  func postMetrics(of task: URLSessionTask, transactions: [TransactionRecord]) {
    let metrics = URLSessionTaskMetrics(
      transactionMetrics: transactions.map { URLSessionTaskTransactionMetrics($0) },
      taskInterval: DateInterval(start: task.creation, end: max(Date(), task.creation)),
      redirectCount: transactions.dropLast().count { TaskDelivery.isRedirect($0.response) })
    post(.metrics) { [session] in $0.task?.urlSession(session, task: task, didFinishCollecting: metrics) }
  }

  /// A redirect that another transaction comes after was followed.
  private static func isRedirect(_ response: URLResponse?) -> Bool {
    guard let response = response as? HTTPURLResponse else { return false }
    return [301, 302, 303, 307, 308].contains(response.statusCode)
  }
}
