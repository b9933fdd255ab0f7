import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Connections whose delegate wants a file.
@Suite struct NSURLConnectionDownloadTests {
  @available(*, deprecated)
  private final class Downloads: ConnectionLog, NSURLConnectionDownloadDelegate, @unchecked Sendable {
    // Sendable by hand: what changes is behind locks.
    let resumptions = Recorder<[Int64]>()
    let writes = Recorder<[Int64]>()
    let places = Recorder<URL>()

    func connection(
      _ connection: NSURLConnection, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
      expectedTotalBytes: Int64
    ) {
      writes.record([totalBytesWritten, expectedTotalBytes])
      note("wrote")
    }
    func connectionDidResumeDownloading(
      _ connection: NSURLConnection, totalBytesWritten: Int64, expectedTotalBytes: Int64
    ) {
      resumptions.record([totalBytesWritten, expectedTotalBytes])
      note("resumed")
    }
    func connectionDidFinishDownloading(_ connection: NSURLConnection, destinationURL: URL) {
      places.record(destinationURL)
      received.withLock { $0 = (try? Data(contentsOf: destinationURL)) ?? Data() }
      end("file")
    }
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { fail(error) }
  }

  @available(*, deprecated)
  private func load(_ log: Downloads, _ server: LoopbackServer, _ sessions: ConnectionSessions) async throws {
    let request = URLRequest(url: server.url())
    try await onRunLoop(log) {
      _ = NSURLConnection(request: request, delegate: log, startImmediately: true, in: sessions)
    }
    #expect(log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test func theFileLivesDuringTheCallOnly() async throws {
    try await withConnections({
      $0.target == "/" ? .ok("bytes") : .chunked(["by", "tes"])
    }) { server, sessions in
      let log = Downloads()
      try await load(log, server, sessions)
      #expect(log.summary == ["wrote", "file"] && log.text == "bytes")
      #expect(log.writes.all.last == [5, 5])
      let place = try #require(log.places.all.first)
      try await eventually("the file to go") { !FileManager.default.fileExists(atPath: place.path) }
    }
  }

  @available(*, deprecated)
  @Test func anUnknownLengthIsZero() async throws {
    try await withConnections({ _ in .chunked(["by", "tes"]) }) { server, sessions in
      let log = Downloads()
      try await load(log, server, sessions)
      #expect(log.writes.all.last == [5, 0] && log.text == "bytes")
    }
  }

  @available(*, deprecated)
  @Test func aDownloadThatBreaksOffGoesOn() async throws {
    let file = FileResource(size: 3_000_000)
    file.update { $0.cuts = [.after(1_200_000), .after(1_000_000)] }
    try await withConnections({ file.reply(to: $0) }) { server, sessions in
      let log = Downloads()
      try await load(log, server, sessions)
      #expect(log.summary.last == "file")
      #expect(log.resumptions.all == [[1_200_000, 3_000_000], [2_200_000, 3_000_000]])
      #expect(log.received.withLock { BytePattern().matches($0) && $0.count == 3_000_000 })
      #expect(file.bytesSent == 3_000_000)
    }
  }

  @available(*, deprecated)
  @Test func aDownloadThatCanNotGoOnFailsAndLeavesNoFile() async throws {
    try await withConnections({ _ in .truncated(declared: 1000, sent: 10) }) { server, sessions in
      let log = Downloads()
      try await load(log, server, sessions)
      #expect(log.summary.last == "failed -1005")
      #expect(log.errors.all.first?.downloadTaskResumeData == nil)
    }
  }
}
