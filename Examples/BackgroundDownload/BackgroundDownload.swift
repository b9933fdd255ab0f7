import Foundation
import FoundationNetworking

/// A download that outlives the program that started it.
///
///     background-download URL FILE
///
/// Kill the program whenever you like. When the file is there, the transfer service starts the program again, without
/// arguments, and `EventHandler` puts the file in its place.
@main
struct BackgroundDownload {
  static func main() async throws {
    // Started because a transfer is over? Then handle its events, and that is all.
    if await URLSessionApplication.shared.run(EventHandler()) { return }

    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let source = arguments.first.flatMap({ URL(string: $0) }), let file = arguments.last
    else {
      print("usage: background-download URL FILE")
      exit(64)
    }
    let downloads = Downloads()
    let session = URLSession(configuration: Downloads.configuration, delegate: downloads, delegateQueue: nil)
    let task = session.downloadTask(with: source)
    task.taskDescription = URL(fileURLWithPath: file).path
    task.resume()
    await session.flush()
    print("handed over; this program may now end")
    await downloads.waitForTheLastTask()
  }
}

/// Receives what a background session tells, in whichever process is running at the time.
final class Downloads: NSObject, URLSessionDownloadDelegate, Sendable {
  static var configuration: URLSessionConfiguration { .background(withIdentifier: "example.downloads") }

  private let (ended, end) = AsyncStream.makeStream(of: Void.self)
  private let whenEventsAreHandled: (@Sendable () -> Void)?

  init(whenEventsAreHandled: (@Sendable () -> Void)? = nil) { self.whenEventsAreHandled = whenEventsAreHandled }

  func waitForTheLastTask() async { for await _ in ended { return } }

  /// The file is at `location` until this method returns.
  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    guard let path = downloadTask.taskDescription else { return }
    let target = URL(fileURLWithPath: path)
    do {
      _ = try? FileManager.default.removeItem(at: target)
      try FileManager.default.moveItem(at: location, to: target)
      note("finished downloading to \(target.lastPathComponent)", of: downloadTask)
    } catch { note("could not place the file: \(error)", of: downloadTask) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    note(error.map { "failed: \($0.localizedDescription)" } ?? "completed", of: task)
    end.yield()
  }

  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { whenEventsAreHandled?() }

  /// Appends a line to `FILE.log`, so that one can see which process was told what.
  private func note(_ event: String, of task: URLSessionTask) {
    guard let path = task.taskDescription else { return }
    let line = "process \(ProcessInfo.processInfo.processIdentifier): task \(task.taskIdentifier) \(event)\n"
    let log = path + ".log"
    if !FileManager.default.fileExists(atPath: log) { _ = FileManager.default.createFile(atPath: log, contents: nil) }
    guard let handle = FileHandle(forWritingAtPath: log) else { return }
    handle.seekToEndOfFile()
    handle.write(Data(line.utf8))
    try? handle.close()
  }
}

/// What the program does when the transfer service has started it.
final class EventHandler: URLSessionApplicationDelegate {
  func application(
    _ application: URLSessionApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping @Sendable () -> Void
  ) {
    // Making the session is enough: its delegate is told everything that happened meanwhile.
    _ = URLSession(
      configuration: .background(withIdentifier: identifier),
      delegate: Downloads(whenEventsAreHandled: completionHandler), delegateQueue: nil)
  }
}
