import Foundation
import SystemServices
import TransferProtocol

/// The facts by which a transfer is found to be one that can wait.
struct TransferDiscretion: Sendable, Equatable {
  enum Cause: Sendable, Equatable {
    /// The session's configuration says so.
    case configuration
    /// The app made it while the service had the app running in the background.
    case madeInBackground
  }

  /// nil: it never waits.
  private(set) var cause: Cause?
  private let isMadeInBackground: Bool
  let created: Date
  /// By the app's hints; nil when it gave none.
  private(set) var expectedBytes: Int64?
  /// It was too slow, and is not tried before.
  var pausedUntil: BootInstant?
  /// Measures the present run.
  var throughput: ThroughputWatch?

  init(_ stored: StoredTransfer, options: SessionOptions) {
    let description = stored.description
    isMadeInBackground = description.isMadeInBackground == true
    created = stored.created
    takeHints(of: description)
    take(options)
  }

  /// The app has changed its hints.
  mutating func takeHints(of description: TransferDescription) {
    let hints = [description.countOfBytesClientExpectsToSend, description.countOfBytesClientExpectsToReceive]
      .filter { $0 >= 0 }
    expectedBytes = hints.isEmpty ? nil : hints.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
  }

  /// The session has these options from now on.
  mutating func take(_ options: SessionOptions) {
    cause = options.isDiscretionary == true ? .configuration : isMadeInBackground ? .madeInBackground : nil
  }

  /// Whether it can wait. An app that comes to the foreground promotes what it made in the background.
  func applies(inForeground: Bool) -> Bool {
    switch cause {
    case .configuration: true
    case .madeInBackground: !inForeground
    case nil: false
    }
  }
}
