import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a download that is paused, which gives resume data, and resumed from them. (URL Session Programming Guide,
/// listings 1-6 and 1-7.)
///
///     EXAMPLES=1 swift run download-resume http://localhost:8080
@main
struct DownloadResume {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]),
      // A file of 4 MiB that takes two seconds.
      let file = URL(string: "file?size=4194304&rate=2097152", relativeTo: server.appendingPathComponent("/"))
    else {
      print("usage: download-resume SERVER")
      exit(64)
    }
    do { try await run(downloading: file) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(downloading file: URL) async throws {
    let delegate = DownloadDelegate()
    let session = URLSession(configuration: .default, delegate: delegate, delegateQueue: nil)
    let download = session.downloadTask(with: file)
    download.resume()

    // Paused at a quarter.
    var resumeData: Data?
    for await event in delegate.events {
      if case .failed(let error) = event { throw error }
      guard case .progress(let written, let expected) = event, written >= expected / 4 else { continue }
      resumeData = await download.cancelByProducingResumeData()
      break
    }
    guard let resumeData else {
      print("the server does not say what a later request could go on with")
      exit(1)
    }
    print("paused at \(download.countOfBytesReceived) of \(download.countOfBytesExpectedToReceive) bytes")

    // A new task goes on with the rest.
    session.downloadTask(withResumeData: resumeData).resume()
    for await event in delegate.events {
      switch event {
      case .progress: continue
      case .resumed(let offset, let expected): print("resumed at \(offset) of \(expected) bytes")
      case .finished(let file):
        defer { try? FileManager.default.removeItem(at: file) }
        try check(file)
        session.finishTasksAndInvalidate()
        return
      case .failed(let error as URLError) where error.code == .cancelled:
        // The end of the first task.
        print("the first task ended as cancelled")
      case .failed(let error): throw error
      }
    }
  }

  /// The server's file has numbered lines.
  private static func check(_ file: URL) throws {
    let lines = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
    let areInOrder = zip(lines, 1...).allSatisfy { Int($0) == $1 }
    print("finished: \(lines.count) lines, in order: \(areInOrder)")
    if lines.count != 262_144 || !areInOrder { exit(1) }
  }
}
