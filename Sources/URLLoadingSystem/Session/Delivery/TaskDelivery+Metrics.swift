import Foundation
import TransferProtocol

extension TaskDelivery {
  /// Posts the task's metrics, which are made only for a delegate that may implement the method.
  ///
  /// - Parameter told: the transactions that took place in the transfer service.
  func postMetrics(of task: URLSessionTask, transactions: [TransactionRecord], told: [TransactionDescription] = []) {
    guard told.isEmpty else {
      let metrics = URLSessionTaskMetrics(told: told, creation: task.creation.date)
      return post(.metrics) { [session] in $0.task?.urlSession(session, task: task, didFinishCollecting: metrics) }
    }
    // A task that goes on with another one's work has transactions from before it was made.
    let anchor = transactions.first?.anchor ?? task.creation
    let metrics = URLSessionTaskMetrics(
      transactions: transactions, taskInterval: DateInterval(start: anchor.date, end: anchor.date(of: .now())))
    post(.metrics) { [session] in $0.task?.urlSession(session, task: task, didFinishCollecting: metrics) }
  }
}
