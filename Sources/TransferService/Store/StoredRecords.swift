import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

package typealias AppID = Int64
package typealias SessionID = Int64
package typealias TransferID = Int64

/// One background session of one app, as it is kept.
package struct StoredSession: Sendable, Equatable {
  package var id: SessionID
  package var app: AppID
  package var identifier: String
  package var options: SessionOptions
  package var nextTaskIdentifier: Int
  package var executable: ExecutableIdentity
  /// Launches of the app since it last said that it was done.
  package var launches: Int
  package var lastLaunch: DurableInstant?
  /// The process that attached last.
  package var holder: StoredHolder?
}

/// A process that held a session, in one start of the machine: in the next its number means nothing.
package struct StoredHolder: Codable, Sendable, Equatable {
  package var process: ProcessIdentity
  package var bootID: String

  package init(process: ProcessIdentity, bootID: String) {
    self.process = process
    self.bootID = bootID
  }
}

/// What is known of a transfer without reading its request: enough for scheduling ten thousand of them.
package struct StoredTransferHead: Sendable, Equatable {
  package var id: TransferID
  package var session: SessionID
  package var taskIdentifier: Int
  package var state: StoredState
  package var host: String
  package var priority: Float
  package var earliestBegin: Date?
  package var committedOffset: Int64
  package var expectedTotal: Int64
  package var failures: Int
  package var nextAttempt: DurableInstant?
  package var lastFailure: String?
}

/// A transfer in full.
package struct StoredTransfer: Sendable, Equatable {
  package var head: StoredTransferHead
  package var app: AppID
  package var sessionIdentifier: String
  package var description: TransferDescription
  package var response: ResponseSummary?
  package var validator: ResumeValidator?
  /// When the resource time-out began to run.
  package var started: DurableInstant?
  package var failure: TransferFailure?
  package var created: Date
  package var finished: Date?
  package var isAcknowledged: Bool
  /// What was asked for can't be read any more; `description` only stands for it.
  package var isDamaged = false
}

/// Whether it runs this moment is no business of the store: after a crash nothing does.
package enum StoredState: String, Sendable {
  case suspended
  case active
  case completed
}

/// An event as it waits for delivery. The path of a file is made afresh for each delivery, so it is not kept.
package struct StoredEvent: Sendable, Equatable {
  package var sequence: Int64
  package var transfer: TransferID
  package var taskIdentifier: Int
  package var kind: Kind
  package var completion: Completion

  package enum Kind: String, Sendable {
    case finishedDownloading
    case completed
  }
}
