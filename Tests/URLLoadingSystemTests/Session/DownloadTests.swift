import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

@Suite struct DownloadTests {
  @Test(.overHTTP1To3) func theFileLivesDuringTheCallOnly() async throws {
    let count: Int64 = 5_000_000
    try await withServer({ _ in .pattern(BytePattern(), count: count) }) { server in
      let delegate = RecordingDelegate()
      let seen = Mutex<(digest: UInt64, url: URL)?>(nil)
      delegate.onFile = { url in
        let data = (try? Data(contentsOf: url)) ?? Data()
        seen.withLock { $0 = (digest(data), url) }
      }
      let session = URLSession.recording(delegate)
      session.downloadTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      let file = try #require(seen.withLock { $0 })
      #expect(file.digest == BytePattern().digest(count: count))
      #expect(!FileManager.default.fileExists(atPath: file.url.path))
      #expect(delegate.summary == ["created", "written", "metrics", "file", "completed"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func completionHandlersMayMoveTheFile() async throws {
    let session = URLSession(configuration: .loopback)
    let target = FileManager.default.temporaryDirectory.appendingPathComponent("moved-\(UUID().uuidString)")
    let seen = Recorder<String?>()
    session.downloadTask(with: try textURL("content")) { file, response, error in
      #expect(error == nil && response != nil)
      if let file { try? FileManager.default.moveItem(at: file, to: target) }
      seen.record(file?.path)
    }.resume()
    let path = try #require(try await seen.next())
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try String(contentsOf: target, encoding: .utf8) == "content")
    try FileManager.default.removeItem(at: target)
    session.finishTasksAndInvalidate()
  }

  @Test(.overHTTP1To3) func aFailedDownloadLeavesNoFile() async throws {
    let reply = Reply([
      .head(200, fields: [("Content-Length", "9000000")]), .pattern(BytePattern(), count: 4_000_000), .stall,
    ])
    try await withServer({ _ in reply }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let task = session.downloadTask(with: server.url())
      task.resume()
      _ = try await delegate.events.first(2)
      task.cancel()
      try await delegate.done.wait(within: patience)
      #expect(!delegate.summary.contains("file"))
      #expect(delegate.summary.last == "failed -999")
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func aDataTaskBecomesADownload() async throws {
    let count: Int64 = 3_000_000
    try await withServer({ _ in .pattern(BytePattern(), count: count) }) { server in
      let delegate = RecordingDelegate()
      delegate.onResponse = { _, _ in .becomeDownload }
      let seen = Recorder<UInt64>()
      delegate.onFile = { seen.record(digest((try? Data(contentsOf: $0)) ?? Data())) }
      let session = URLSession.recording(delegate)
      let task = session.dataTask(with: server.url())
      task.resume()
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      #expect(
        delegate.summary == [
          "created", "response", "became download", "written", "metrics", "file", "completed", "invalid",
        ])
      #expect(seen.all == [BytePattern().digest(count: count)])
      #expect(task.state == .completed)
      #expect(task.error == nil)
    }
  }
}
