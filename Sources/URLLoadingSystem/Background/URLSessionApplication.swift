import Foundation
import Synchronization
import TransferProtocol

/// The running program as the transfer service sees it: the counterpart, for any Linux program, of the application
/// object that calls `application(_:handleEventsForBackgroundURLSession:completionHandler:)` on Apple's systems.
///
///     @main struct App {
///       static func main() async {
///         if await URLSessionApplication.shared.run(EventHandler()) { return }
///         // … an ordinary start …
///       }
///     }
public final class URLSessionApplication: Sendable {
  /// The one application object of the process.
  public static let shared = URLSessionApplication()

  /// The background session whose events this process was started to handle; nil after an ordinary start.
  public let launchSessionIdentifier: String?

  private struct Launch {
    var hasRun = false
    /// Whether the delegate of the session was told that all events are delivered.
    var isFinished = false
    /// Whether the session can't be used in this process.
    var isLost = false
    /// Whether its delegate was told so.
    var isLossTold = false
    /// Ends the wait for the app.
    var answer: OnceOnly?
  }

  private let launch = Mutex(Launch())

  private init() {
    let variable = ServiceNames.launchSessionVariable
    launchSessionIdentifier = getenv(variable).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    // Programs that this one starts were not started for these events.
    unsetenv(variable)
  }

  /// Handles the events that the program was started for, if it was.
  ///
  /// Returns true when it was and `delegate` has called its completion handler and the transfer service knows of it:
  /// the program may end. A service that can't be told within half a minute starts the program again later. Also when the
  /// session's delegate was told that the session can't be used here: another process of the app has the session and handles
  /// its events, or the transfer service can't be reached or does not take this program. Returns false at once after an
  /// ordinary start, and when called again.
  public func run(_ delegate: any URLSessionApplicationDelegate) async -> Bool {
    guard let identifier = launchSessionIdentifier else { return false }
    let isFirst = launch.withLock { launch in
      defer { launch.hasRun = true }
      return !launch.hasRun
    }
    guard isFirst else { return false }
    await withCheckedContinuation { continuation in
      let answer = OnceOnly { continuation.resume() }
      let isLossTold = launch.withLock { launch in
        launch.answer = answer
        return launch.isLossTold
      }
      if isLossTold { return answer.perform() }
      delegate.application(self, handleEventsForBackgroundURLSession: identifier) { answer.perform() }
    }
    // One that has lost the session has nothing to say of its events.
    if !launch.withLock({ $0.isLost }) { await BackgroundEngine.doneHandlingEvents(ofSession: identifier) }
    return true
  }

  /// Whether the process was started for the events of that session, and its delegate has not heard that all are delivered.
  func awaitsEvents(of identifier: String) -> Bool {
    identifier == launchSessionIdentifier && launch.withLock { !$0.isFinished }
  }

  /// The delegate of the session is told that all events are delivered.
  func toldFinish(of identifier: String) {
    if identifier == launchSessionIdentifier { launch.withLock { $0.isFinished = true } }
  }

  /// The session can't be used in this process, and its delegate will be told so.
  func lost(_ identifier: String) {
    if identifier == launchSessionIdentifier { launch.withLock { $0.isLost = true } }
  }

  /// Its delegate was told so.
  func toldLoss(of identifier: String) {
    guard identifier == launchSessionIdentifier else { return }
    let answer = launch.withLock { launch in
      launch.isLossTold = true
      return launch.answer
    }
    answer?.perform()
  }
}
