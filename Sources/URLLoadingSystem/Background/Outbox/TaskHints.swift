import Foundation
import TransferProtocol

/// Properties of a task that the app may change at any time.
struct TaskHints: Equatable, Sendable {
  var taskDescription: String?
  var priority: Float
  var earliestBeginDate: Date?
  /// -1 when the app does not know it.
  var countOfBytesClientExpectsToSend: Int64 = -1
  /// -1 when the app does not know it.
  var countOfBytesClientExpectsToReceive: Int64 = -1
  /// nil: any number.
  var bytesPerSecond: Int64?
  /// In hours of the day.
  var hourlyLimits: [BandwidthLimit] = []
}

extension TaskHints {
  init(_ state: TaskState) {
    self.init(
      taskDescription: state.taskDescription, priority: state.priority, earliestBeginDate: state.earliestBeginDate,
      countOfBytesClientExpectsToSend: state.countOfBytesClientExpectsToSend,
      countOfBytesClientExpectsToReceive: state.countOfBytesClientExpectsToReceive,
      bytesPerSecond: state.transferBandwidthLimit, hourlyLimits: state.transferBandwidthHours.limits)
  }

  init(_ description: TransferDescription) {
    self.init(
      taskDescription: description.taskDescription, priority: description.priority,
      earliestBeginDate: description.earliestBeginDate,
      countOfBytesClientExpectsToSend: description.countOfBytesClientExpectsToSend,
      countOfBytesClientExpectsToReceive: description.countOfBytesClientExpectsToReceive,
      bytesPerSecond: description.bytesPerSecond, hourlyLimits: description.hourlyLimits ?? [])
  }

  func write(to description: inout TransferDescription) {
    description.taskDescription = taskDescription
    description.priority = priority
    description.earliestBeginDate = earliestBeginDate
    description.countOfBytesClientExpectsToSend = countOfBytesClientExpectsToSend
    description.countOfBytesClientExpectsToReceive = countOfBytesClientExpectsToReceive
    description.bytesPerSecond = bytesPerSecond
    description.hourlyLimits = hourlyLimits.isEmpty ? nil : hourlyLimits
  }

  /// Those that differ from the ones that the service has.
  func write(to update: inout UpdateTask, from known: TaskHints) {
    if known.taskDescription != taskDescription { update.taskDescription = taskDescription ?? "" }
    if known.priority != priority { update.priority = priority }
    if known.earliestBeginDate != earliestBeginDate { update.earliestBeginDate = earliestBeginDate ?? .distantPast }
    if known.countOfBytesClientExpectsToSend != countOfBytesClientExpectsToSend {
      update.countOfBytesClientExpectsToSend = countOfBytesClientExpectsToSend
    }
    if known.countOfBytesClientExpectsToReceive != countOfBytesClientExpectsToReceive {
      update.countOfBytesClientExpectsToReceive = countOfBytesClientExpectsToReceive
    }
    if known.bytesPerSecond != bytesPerSecond { update.bytesPerSecond = bytesPerSecond ?? 0 }
    if known.hourlyLimits != hourlyLimits { update.hourlyLimits = hourlyLimits }
  }
}
