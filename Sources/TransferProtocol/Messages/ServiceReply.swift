import Foundation

/// The answer to one request.
package enum ServiceReply: Sendable, Equatable {
  case done
  case hello(HelloReply)
  case version(ServiceVersion)
  case attached(Attached)
  case tasks(TaskPage)
  case created(CreatedTasks)
  case cancelled(CancelledTask)
  case transfers(TransferPage)
  case transfer(TransferSnapshot)
  case refused(Refusal)
  /// A reply of a newer service.
  case unknown(String)

  var name: String {
    switch self {
    case .done: "done"
    case .hello: "hello"
    case .version: "version"
    case .attached: "attached"
    case .tasks: "tasks"
    case .created: "created"
    case .cancelled: "cancelled"
    case .transfers: "transfers"
    case .transfer: "transfer"
    case .refused: "refused"
    case .unknown(let name): name
    }
  }

  var body: (any Encodable)? {
    switch self {
    case .done, .unknown: nil
    case .hello(let body): body
    case .version(let body): body
    case .attached(let body): body
    case .tasks(let body): body
    case .created(let body): body
    case .cancelled(let body): body
    case .transfers(let body): body
    case .transfer(let body): body
    case .refused(let body): body
    }
  }
}

package struct HelloReply: Codable, Sendable, Equatable {
  /// The version that both sides speak from now on.
  package var version: Int
  package var service: ServiceVersion

  package init(version: Int, service: ServiceVersion) {
    self.version = version
    self.service = service
  }
}

package struct ServiceVersion: Codable, Sendable, Equatable {
  /// The version of the program.
  package var program: String
  package var versions: ProtocolVersions
  package var processIdentifier: Int32

  package init(program: String, versions: ProtocolVersions = .spoken, processIdentifier: Int32) {
    self.program = program
    self.versions = versions
    self.processIdentifier = processIdentifier
  }
}

package struct Attached: Codable, Sendable, Equatable {
  /// The first page of the session's tasks: those not over and those over with events still to be delivered.
  package var page: TaskPage
  /// What the next new task is to be called. Task identifiers grow and are never used again.
  package var nextTaskIdentifier: Int
  /// How many events wait for delivery.
  package var pendingEventCount: Int
  /// Whether `eventsFinished` will follow: there were events or unfinished tasks when the app attached.
  package var willFinishEvents: Bool

  package init(page: TaskPage, nextTaskIdentifier: Int, pendingEventCount: Int, willFinishEvents: Bool) {
    self.page = page
    self.nextTaskIdentifier = nextTaskIdentifier
    self.pendingEventCount = pendingEventCount
    self.willFinishEvents = willFinishEvents
  }
}

/// Some of a session's tasks, by growing task identifier.
package struct TaskPage: Codable, Sendable, Equatable {
  package var tasks: [TransferSnapshot]
  /// The value of `after` for the next page; nil when this is the last one.
  package var next: Int?

  package init(tasks: [TransferSnapshot] = [], next: Int? = nil) {
    self.tasks = tasks
    self.next = next
  }
}

package struct CreatedTasks: Codable, Sendable, Equatable {
  /// The service's number of each task, in the order of the request.
  package var transfers: [Int64]

  package init(transfers: [Int64]) { self.transfers = transfers }
}

package struct CancelledTask: Codable, Sendable, Equatable {
  package var resumePoint: ResumePoint?

  package init(resumePoint: ResumePoint? = nil) { self.resumePoint = resumePoint }
}

/// Some of an app's transfers, by growing number.
package struct TransferPage: Codable, Sendable, Equatable {
  package var transfers: [TransferStatus]
  /// The value of `after` for the next page; nil when this is the last one.
  package var next: Int64?

  package init(transfers: [TransferStatus] = [], next: Int64? = nil) {
    self.transfers = transfers
    self.next = next
  }
}
