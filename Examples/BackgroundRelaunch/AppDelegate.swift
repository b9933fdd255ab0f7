import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking

/// On iOS this method belongs to the app's `UIApplicationDelegate`, and is the same.
final class AppDelegate: URLSessionApplicationDelegate {
  func application(
    _ application: URLSessionApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping @Sendable () -> Void
  ) {
    // The completion handler first: the session may be through with its events at once.
    SessionDelegate.shared.add(completionHandler, forSession: identifier)
    let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
    _ = URLSession(configuration: configuration, delegate: SessionDelegate.shared, delegateQueue: nil)
  }
}
#endif
