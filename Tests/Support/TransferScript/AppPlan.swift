import Foundation

/// How a test app behaves, in whichever process it runs: a file in its folder, read at every start.
package struct AppPlan: Codable, Sendable {
  package var session = "end-to-end"
  package var sendsLaunchEvents = true
  package var connectionsPerHost: Int?
  /// A proxy on this machine that all connections are tunnelled through.
  package var proxyPort: UInt16?
  /// A proxy of a kind that is not supported.
  package var usesRelay = false
  package var requiresDNSSECValidation = false
  package var isDiscretionary = false
  /// The field `X-Mark` of the request with which a task begins whose date has come; nil: it begins as it is.
  package var delayedMark: String?
  /// Seconds without a byte after which a try has failed; nil: the default.
  package var requestTimeout: TimeInterval?
  /// Seconds that a transfer may take in all; nil: the default.
  package var resourceTimeout: TimeInterval?
  package var faults: [AppFault] = []

  package init() {}
}

/// Something that goes wrong in the app.
package struct AppFault: Codable, Sendable {
  package enum Moment: String, Codable, Sendable, CaseIterable {
    /// At the start of a process that the transfer service started, before it has made its session.
    case launch
    case beforeMove
    case afterMove
    case inDidComplete
    case inDidFinishEvents
    /// In `handleEventsForBackgroundURLSession`, before the session is made.
    case inHandleEvents
  }

  package enum Act: String, Codable, Sendable {
    /// SIGKILL, from itself.
    case crash
    /// Waits until the file `go` is in the folder.
    case hold
    /// Says that it is done, and ends.
    case sayDoneAndExit
  }

  package var moment: Moment
  package var act: Act
  /// How often, over all processes.
  package var times: Int

  package init(_ moment: Moment, _ act: Act, times: Int = 1) {
    self.moment = moment
    self.act = act
    self.times = times
  }
}

/// What a test app is told on its standard input, a line each.
package enum AppCommand: Codable, Sendable {
  /// Makes tasks with the labels `label` (for one) or `label-1`, `label-2`, … and resumes them. With `startsSuspended`
  /// they are suspended again at once. They begin after `delay` seconds, where there is one.
  case download(
    url: String, label: String, count: Int = 1, mark: String? = nil, startsSuspended: Bool = false,
    delay: TimeInterval? = nil)
  case upload(url: String, file: String, label: String, method: String = "PUT")
  case resume(label: String)
  /// Resumes every task of the session that is suspended.
  case resumeAll
  case suspend(label: String)
  case cancel(label: String)
  /// Gives a task another description and another priority.
  case describe(label: String, newLabel: String, priority: Float)
  /// Gives a task's request another field `X-Mark`.
  case mark(label: String, mark: String)
  /// Cancels for resume data, and goes on with it in a new task.
  case continueAnew(label: String, newLabel: String)
  /// Logs every task that is not over.
  case list
  /// Logs what the service knows of its acknowledgements; nothing where no service answers. Not waited for.
  case logAcknowledged
  /// Done when the service has everything.
  case flush
  case invalidateAndCancel
  case exit
}

/// Where a test app finds its plan and puts what it makes: `<folder>/<program>.…`, so that two programs with the same
/// environment do not meet.
package struct AppFolder: Sendable {
  /// The variable that names the folder.
  package static let variable = "XDG_TRANSFER_APP_FOLDER"

  package let folder: String
  package let program: String

  package init(folder: String, program: String) {
    self.folder = folder
    self.program = program
  }

  package var plan: String { "\(folder)/\(program).plan" }
  package var log: String { "\(folder)/\(program).log" }
  package var go: String { "\(folder)/\(program).go" }
  package func file(_ label: String) -> String { "\(folder)/\(program).file.\(label)" }
  /// Made when a fault happens for the `count`th time.
  package func marker(_ fault: Int, _ count: Int) -> String { "\(folder)/\(program).fault.\(fault).\(count)" }
}
