import Foundation

/// One line of a test app's log: something that its session told it, or that it did.
package struct AppEntry: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// The program began. `session` is set when the transfer service started it.
    case started
    /// The session exists.
    case sessionMade
    case willBeginDelayedRequest
    case didWriteData
    case didResumeAtOffset
    case didFinishDownloading
    case didSendBodyData
    /// `text` has the data.
    case didReceiveData
    /// The file is where the app keeps it.
    case moved
    case didComplete
    case didFinishEvents
    case didBecomeInvalid
    /// The completion handler of the launch was called, and `run` has returned.
    case launchHandled
    /// A command was carried out.
    case done
    /// The answer to `list`.
    case tasks
    /// The answer to `logAcknowledged`: `labels` has the tasks of whose end the service has the acknowledgement, and `count`
    /// says how many other tasks it has of the app, and `text` which.
    case acknowledged
  }

  package var process: Int32
  /// Of the clock on the wall, in seconds.
  package var time: Double
  package var kind: Kind
  package var session: String?
  package var task: Int?
  /// The task's description.
  package var label: String?
  package var url: String?
  /// Of the response.
  package var status: Int?
  package var responseURL: String?
  /// The `URLError` code.
  package var error: Int?
  /// Bytes of the file so far, or the offset that was resumed at.
  package var bytes: Int64?
  package var expected: Int64?
  package var text: String?
  package var tasks: [AppTask]?
  package var labels: [String]?
  package var count: Int?
  /// The number of the command that is done, and the seconds that it took.
  package var command: Int?
  package var seconds: Double?

  package init(_ kind: Kind) {
    process = ProcessInfo.processInfo.processIdentifier
    time = Date().timeIntervalSince1970
    self.kind = kind
  }
}

/// A task as `getAllTasks` shows it.
package struct AppTask: Codable, Sendable, Equatable {
  package var identifier: Int
  package var label: String?
  package var url: String?
  /// Of the original request's field `X-Mark`.
  package var mark: String?
  /// The raw value of `URLSessionTask.State`.
  package var state: Int
  package var received: Int64
  package var priority: Float

  package init(
    identifier: Int, label: String?, url: String?, mark: String?, state: Int, received: Int64, priority: Float
  ) {
    self.identifier = identifier
    self.label = label
    self.url = url
    self.mark = mark
    self.state = state
    self.received = received
    self.priority = priority
  }
}
