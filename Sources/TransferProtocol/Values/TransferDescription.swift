import Foundation

/// A task as the app describes it.
package struct TransferDescription: Codable, Sendable, Equatable {
  /// How long one may be in a message, its body aside.
  package static let maximumLength = 1024 * 1024

  /// Chosen by the app, unique in the session: a task that is sent twice is created once.
  package var token: String
  /// Chosen by the app: `Attached.nextTaskIdentifier` and upwards.
  package var taskIdentifier: Int
  package var kind: TransferKind
  package var request: RequestDescription
  package var taskDescription: String?
  /// 0…1, as `URLSessionTask.priority`.
  package var priority: Float
  package var earliestBeginDate: Date?
  /// -1 when the app does not say.
  package var countOfBytesClientExpectsToSend: Int64
  /// -1 when the app does not say.
  package var countOfBytesClientExpectsToReceive: Int64
  /// Whether the task runs at once; otherwise it waits for `resumeTasks`.
  package var startsImmediately: Bool
  /// Where an earlier download stopped.
  package var resumePoint: ResumePoint?

  package init(token: String, taskIdentifier: Int, kind: TransferKind = .download, request: RequestDescription) {
    self.token = token
    self.taskIdentifier = taskIdentifier
    self.kind = kind
    self.request = request
    priority = 0.5
    countOfBytesClientExpectsToSend = -1
    countOfBytesClientExpectsToReceive = -1
    startsImmediately = false
  }
}

package enum TransferKind: String, Codable, Sendable {
  case download
  case upload
}

/// A URL request. nil means the default of the session.
package struct RequestDescription: Codable, Sendable, Equatable {
  /// The largest body that may travel in a message.
  package static let maximumBodyLength = 1024 * 1024

  package var url: String
  package var method: String
  package var headers: [HeaderField]
  package var body: Data?
  package var timeoutInterval: Double?
  package var cachePolicy: UInt?
  package var networkServiceType: UInt?
  package var allowsCellularAccess: Bool?
  package var allowsExpensiveNetworkAccess: Bool?
  package var allowsConstrainedNetworkAccess: Bool?
  package var assumesHTTP3Capable: Bool?
  package var httpShouldHandleCookies: Bool?
  package var mainDocumentURL: String?
  package var attribution: UInt?

  package init(url: String, method: String = "GET", headers: [HeaderField] = [], body: Data? = nil) {
    self.url = url
    self.method = method
    self.headers = headers
    self.body = body
  }
}

/// What a download needs to go on where an earlier one stopped.
package struct ResumePoint: Codable, Sendable, Equatable {
  /// A file with the bytes received so far. The service takes the file over.
  package var path: String
  package var offset: Int64
  package var url: String
  /// -1 when it is not known.
  package var expectedTotal: Int64
  package var entityTag: String?
  package var lastModified: String?
  /// The Date field of the response that the bytes came with.
  package var serverDate: String?

  package init(path: String, offset: Int64, url: String, expectedTotal: Int64 = -1) {
    self.path = path
    self.offset = offset
    self.url = url
    self.expectedTotal = expectedTotal
  }
}
