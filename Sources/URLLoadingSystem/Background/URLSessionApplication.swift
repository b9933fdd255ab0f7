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

  private let hasRun = Mutex(false)

  private init() {
    let variable = ServiceNames.launchSessionVariable
    launchSessionIdentifier = getenv(variable).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    // Programs that this one starts were not started for these events.
    unsetenv(variable)
  }

  /// Handles the events that the program was started for, if it was.
  ///
  /// Returns true when it was and `delegate` has called its completion handler and the transfer service knows of it:
  /// the program may end. A service that can't be told within half a minute starts the program again later. Returns false
  /// at once after an ordinary start, and when called again.
  public func run(_ delegate: any URLSessionApplicationDelegate) async -> Bool {
    guard let identifier = launchSessionIdentifier else { return false }
    let isFirst = hasRun.withLock { hasRun in
      defer { hasRun = true }
      return !hasRun
    }
    guard isFirst else { return false }
    await withCheckedContinuation { continuation in
      let answer = OnceOnly { continuation.resume() }
      delegate.application(self, handleEventsForBackgroundURLSession: identifier) { answer.perform() }
    }
    await BackgroundEngine.doneHandlingEvents(ofSession: identifier)
    return true
  }
}
