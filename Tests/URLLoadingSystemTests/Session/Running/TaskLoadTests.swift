import EveryVersion
import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite(.overHTTP1To3) struct TaskLoadTests {
  private static func beginsWith(_ text: String, _ file: URL) -> Bool {
    guard let handle = try? FileHandle(forReadingFrom: file) else { return false }
    defer { try? handle.close() }
    return (try? handle.read(upToCount: text.utf8.count)) == Data(text.utf8)
  }

  /// Nothing is left of the download, whose task is cancelled.
  @Test func anUploadThatBecameADownloadLeavesNoFile() async throws {
    let mark = UUID().uuidString
    let bytes = Array(String(repeating: mark, count: 3_000_000 / mark.utf8.count).utf8)
    let reply = Reply([.head(200, fields: [("Content-Length", "9000000")]), .body(bytes), .stall])
    try await withServer({ _ in reply }) { server in
      let delegate = RecordingDelegate()
      delegate.onResponse = { _, _ in .becomeDownload }
      let session = URLSession.recording(delegate)
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let task = session.uploadTask(with: request, from: Data("upload".utf8))
      task.resume()
      let files = {
        let all = try? FileManager.default.contentsOfDirectory(
          at: TemporaryFile.directory, includingPropertiesForKeys: nil)
        return (all ?? []).filter { Self.beginsWith(mark, $0) }
      }
      try await eventually("bytes in a file") { !files().isEmpty }
      session.invalidateAndCancel()
      try await delegate.invalid.wait(within: patience)
      #expect(delegate.summary.contains("became download"))
      #expect(files().isEmpty)
    }
  }
}
