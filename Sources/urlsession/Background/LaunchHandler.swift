import Foundation
import Synchronization
import URLLoadingSystem

/// The program's work when the transfer service started it: take the session's events and end.
final class LaunchHandler: URLSessionApplicationDelegate, Sendable {
  private let session = Mutex<URLSession?>(nil)

  /// When the session has made no call for so long, another process has handled its events.
  private static let patience = Duration.seconds(30)

  func application(
    _ application: URLSessionApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping @Sendable () -> Void
  ) {
    // A session that another process holds is handled there. Ending without the completion handler makes the service
    // look again later.
    let receiver = DownloadReceiver(
      eventsFinished: completionHandler, downloadEnded: { DownloadNotification.show($0) },
      becameInvalid: { _ in exit(CommandStatus.serviceUnavailable.rawValue) })
    if let state = try? DownloadNote.usualState() { KeptBytes(state: state).use() }
    session.withLock {
      $0 = URLSession(
        configuration: BackgroundDownload.configuration(identifier), delegate: receiver, delegateQueue: nil)
    }
    Task {
      while true {
        let idle = receiver.idleTime ?? .zero
        if idle >= LaunchHandler.patience { return completionHandler() }
        try await Task.sleep(for: LaunchHandler.patience - idle)
      }
    }
  }
}
