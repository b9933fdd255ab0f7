import EveryVersion
import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// A load that has ended leaves nothing in memory.
@Suite struct LoadLifetimeTests {
  private final class Weak: @unchecked Sendable {
    // Sendable by hand: a weak reference is read and written atomically.
    weak var work: AnyObject?
    // Held by the sweep of its loop while its timers run.
    weak var control: LoadControl?

    init(_ work: AnyObject, _ control: LoadControl) {
      self.work = work
      self.control = control
    }

    var isGone: Bool { work == nil && control == nil }
  }

  /// Everything that the load of a task consists of refers to its context.
  private func run(_ task: URLSessionTask) throws -> Weak {
    task.resume()
    let work = try #require(task.lockedState.withLock { $0.work })
    return Weak(work, try #require(work as? LoadContext).control)
  }

  private func expectGone(_ load: Weak, _ comment: Comment) async throws {
    try await eventually("\(comment)") { load.isGone }
  }

  @Test(
    .overEveryVersion,
    arguments: ["/small", "/large", "/empty", "/moved", "/broken", "/never", "/nowhere"])
  func theContextIsReleased(path: String) async throws {
    let pattern = BytePattern()
    try await withServer({ request in
      switch request.target {
      case "/large": .pattern(pattern, count: 3 << 20)
      case "/empty": .status(204)
      case "/moved": .redirect(to: "/small")
      case "/broken": .truncated(declared: 100, sent: 10)
      case "/never": .never
      case "/nowhere": .redirect(to: "nowhere:")
      default: .ok("small")
      }
    }) { server in
      let session = URLSession(configuration: .loopback)
      let delegate = RecordingDelegate()
      let recording = URLSession.recording(delegate)
      defer {
        session.invalidateAndCancel()
        recording.invalidateAndCancel()
      }
      let gate = Gate()
      let task = session.dataTask(with: server.url(path)) { _, _, _ in gate.open() }
      let load = try run(task)
      let download = try run(recording.downloadTask(with: server.url(path)))
      if path == "/never" {
        try await eventually("the requests") { server.heads.count == 2 }
        task.cancel()
        recording.getAllTasks { for task in $0 { task.cancel() } }
      }
      try await gate.wait()
      try await delegate.done.wait(within: patience)
      try await expectGone(load, "the context of a data task that asked for \(path)")
      try await expectGone(download, "the context of a download task that asked for \(path)")
    }
  }

  @Test(.overEveryVersion) func theContextOfAnUploadIsReleased() async throws {
    try await withServer({ _ in .ok("") }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      let gate = Gate()
      let load = try run(
        session.uploadTask(with: request, from: Data(count: 1 << 20)) { _, _, _ in gate.open() })
      try await gate.wait()
      try await expectGone(load, "the context of an upload task")
    }
  }
}
