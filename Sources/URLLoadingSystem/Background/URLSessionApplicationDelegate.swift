import Foundation

/// Implemented by a program that uses background sessions and wants to be started when their transfers are over.
///
/// The transfer service starts a program's own executable, without arguments, when every task of one of its background
/// sessions is over while no process holds that session, and the session's configuration has
/// `sessionSendsLaunchEvents`. The program hands itself to `URLSessionApplication.run(_:)` early in its `main`.
public protocol URLSessionApplicationDelegate: AnyObject, Sendable {
  /// The program was started because the background session `identifier` has events to handle.
  ///
  /// Make a session with `URLSessionConfiguration.background(withIdentifier:)` and that identifier: its delegate gets
  /// the pending calls, the last of them `urlSessionDidFinishEvents(forBackgroundURLSession:)`. Then call
  /// `completionHandler`, from any thread: the transfer service will not start the program for these events again.
  /// A program that ends without calling it is started again later. Where the session becomes invalid with an error, since
  /// another process of the app has it, the completion handler need not be called.
  ///
  /// Called on the main thread's behalf, on the task that called `run(_:)`.
  func application(
    _ application: URLSessionApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping @Sendable () -> Void)
}
