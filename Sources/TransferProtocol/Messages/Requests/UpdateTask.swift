import Foundation

/// Fields that are nil are left as they are.
package struct UpdateTask: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// An empty string removes the description.
  package var taskDescription: String?
  package var priority: Float?
  /// `Date.distantPast` removes the date.
  package var earliestBeginDate: Date?
  package var countOfBytesClientExpectsToSend: Int64?
  package var countOfBytesClientExpectsToReceive: Int64?
  /// 0 removes the limit of the app.
  package var bytesPerSecond: Int64?
  /// Limits of the app in hours of the day, in the place of those that there are.
  package var hourlyLimits: [BandwidthLimit]?

  package init(session: String, taskIdentifier: Int) {
    self.session = session
    self.taskIdentifier = taskIdentifier
  }
}
