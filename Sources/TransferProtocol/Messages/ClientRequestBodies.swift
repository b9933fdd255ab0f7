import Foundation

package struct Hello: Codable, Sendable, Equatable {
  package var versions: ProtocolVersions
  /// The library and its version, for the service's log.
  package var client: String

  package init(versions: ProtocolVersions = .spoken, client: String) {
    self.versions = versions
    self.client = client
  }
}

package struct Attach: Codable, Sendable, Equatable {
  /// The identifier of the background configuration, unique within the app.
  package var session: String
  package var options: SessionOptions

  package init(session: String, options: SessionOptions = SessionOptions()) {
    self.session = session
    self.options = options
  }
}

package struct SessionReference: Codable, Sendable, Equatable {
  package var session: String

  package init(session: String) { self.session = session }
}

package struct SessionTasks: Codable, Sendable, Equatable {
  package var session: String
  /// Only tasks with a larger task identifier.
  package var after: Int

  package init(session: String, after: Int) {
    self.session = session
    self.after = after
  }
}

package struct CreateTasks: Codable, Sendable, Equatable {
  package var session: String
  package var tasks: [TransferDescription]

  package init(session: String, tasks: [TransferDescription]) {
    self.session = session
    self.tasks = tasks
  }
}

package struct TaskSelection: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifiers: [Int]

  package init(session: String, taskIdentifiers: [Int]) {
    self.session = session
    self.taskIdentifiers = taskIdentifiers
  }
}

package struct CancelTask: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// Ask for what a later task needs to go on from here. There is none when the server gave nothing to check with.
  package var producingResumePoint: Bool

  package init(session: String, taskIdentifier: Int, producingResumePoint: Bool = false) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.producingResumePoint = producingResumePoint
  }
}

/// Fields that are nil are left as they are.
package struct UpdateTask: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// An empty string removes the description.
  package var taskDescription: String?
  package var priority: Float?
  package var earliestBeginDate: Date?
  package var countOfBytesClientExpectsToSend: Int64?
  package var countOfBytesClientExpectsToReceive: Int64?

  package init(session: String, taskIdentifier: Int) {
    self.session = session
    self.taskIdentifier = taskIdentifier
  }
}

package struct Acknowledge: Codable, Sendable, Equatable {
  package var session: String
  /// Numbers of handled events, in any order.
  package var sequences: [Int64]

  package init(session: String, sequences: [Int64]) {
    self.session = session
    self.sequences = sequences
  }
}

package struct ListTransfers: Codable, Sendable, Equatable {
  /// Only transfers with a larger number; 0 for the first page.
  package var after: Int64
  /// Whether transfers that are over are wanted too.
  package var includesFinished: Bool

  package init(after: Int64 = 0, includesFinished: Bool = true) {
    self.after = after
    self.includesFinished = includesFinished
  }
}

package struct TransferReference: Codable, Sendable, Equatable {
  package var transfer: Int64

  package init(transfer: Int64) { self.transfer = transfer }
}

package struct Watch: Codable, Sendable, Equatable {
  /// The numbers to watch; nil means every transfer of this app, also those to come.
  package var transfers: [Int64]?

  package init(transfers: [Int64]? = nil) { self.transfers = transfers }
}
