import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Downloads that fail, are cancelled, or go on with what an earlier one left.
@Suite struct NSURLDownloadEndTests {
  private static let size: Int64 = 3_000_000

  @available(*, deprecated)
  private func load(
    _ log: DownloadRecorder, _ server: LoopbackServer, _ sessions: ConnectionSessions,
    _ configure: @escaping @Sendable (NSURLDownload) -> Void = { _ in }
  ) async throws {
    let request = URLRequest(url: server.url("/file"))
    try await onRunLoop(log) { configure(NSURLDownload(request: request, delegate: log, in: sessions)) }
    #expect(log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  private func resume(
    _ log: DownloadRecorder, _ data: Data, _ sessions: ConnectionSessions, keepsFile: Bool = false
  ) async throws {
    let path = log.folder.path("file")
    try await onRunLoop(log) {
      let download = NSURLDownload(resumeData: data, delegate: log, path: path, in: sessions)
      if keepsFile { download.deletesFileUponFailure = false }
    }
    #expect(log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func aFailureRemovesTheFileUnlessItIsToBeKept(_ isRemoved: Bool) async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.cuts = [.after(1_200_000)] }
    try await withConnections({ file.reply(to: $0) }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      let made = Mutex<NSURLDownload?>(nil)
      log.place = { [folder = log.folder] _ in (folder.path("file"), false) }
      try await load(log, server, sessions) { download in
        download.deletesFileUponFailure = isRemoved
        made.withLock { $0 = download }
      }
      #expect(log.summary.last == "failed -1005")
      let data = made.withLock { $0 }?.resumeData
      #expect((data == nil) == isRemoved)
      #expect(log.folder.names == (isRemoved ? [] : ["file"]))
      guard let data else { return }
      let next = DownloadRecorder(log.folder)
      try await resume(next, data, sessions)
      #expect(next.summary == ["begin", "send 0", "resume 1200000", "length", "finished"])
      #expect(log.folder.data("file").map { BytePattern().matches($0) && Int64($0.count) == Self.size } == true)
      #expect(file.bytesSent == Self.size)
    }
  }

  /// When the download is cancelled.
  enum Moment: String, CaseIterable, Sendable {
    case atOnce, begin, send = "send 0", response, decide = "decide file", created, length
  }

  @available(*, deprecated)
  @Test(arguments: Moment.allCases, [true, false])
  func aCancelledDownloadTellsNothingMore(_ moment: Moment, isRemoved: Bool) async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.cuts = [.after(1_200_000, .stall)] }
    try await withConnections({ file.reply(to: $0) }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      log.place = { [folder = log.folder] _ in (folder.path("file"), false) }
      let made = Mutex<NSURLDownload?>(nil)
      log.onEvent = { download, event in
        guard event == moment.rawValue else { return }
        made.withLock { $0 = download }
        download.cancel()
        download.cancel()
      }
      let request = URLRequest(url: server.url("/file"))
      let isOver = Gate()
      Thread.detachNewThread {
        log.expectThisThread()
        let download = NSURLDownload(request: request, delegate: log, in: sessions)
        download.deletesFileUponFailure = isRemoved
        if moment == .atOnce {
          made.withLock { $0 = download }
          download.cancel()
        }
        while RunLoop.current.run(mode: .default, before: .distantFuture) {}
        isOver.open()
      }
      try await isOver.wait(within: patience)
      #expect(log.events.all.last == (moment == .atOnce ? nil : moment.rawValue) && log.strays.all.isEmpty)
      let download = try #require(made.withLock { $0 })
      // Waits for the end of the load.
      let data = download.resumeData
      if isRemoved {
        #expect(data == nil)
        #expect(log.folder.names == [])
      } else if moment == .length {
        let next = DownloadRecorder(log.folder)
        try await resume(next, try #require(data), sessions)
        #expect(next.summary.last == "finished")
        #expect(log.folder.data("file").map { BytePattern().matches($0) && Int64($0.count) == Self.size } == true)
      }
    }
  }

  /// The server sends all of it anew, because it has changed.
  @available(*, deprecated)
  @Test func aChangedFileComesWhole() async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.cuts = [.after(1_200_000)] }
    try await withConnections({ file.reply(to: $0) }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      log.place = { [folder = log.folder] _ in (folder.path("file"), false) }
      let made = Mutex<NSURLDownload?>(nil)
      try await load(log, server, sessions) { download in
        download.deletesFileUponFailure = false
        made.withLock { $0 = download }
      }
      let data = try #require(made.withLock { $0 }?.resumeData)
      file.update { $0.replacement = (FileResource.Version(size: 500, etag: "\"other\""), 2) }
      let next = DownloadRecorder(log.folder)
      try await resume(next, data, sessions)
      #expect(next.summary == ["begin", "send 0", "resume 0", "length", "finished"])
      #expect(log.folder.data("file")?.count == 500)
    }
  }

  /// An answer that is no part of the file does not take its place.
  @available(*, deprecated)
  @Test func anErrorPageLeavesThePartialFile() async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.cuts = [.after(1_200_000)] }
    try await withConnections({
      $0.value("Range") == nil ? file.reply(to: $0) : .status(404, body: "none")
    }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      log.place = { [folder = log.folder] _ in (folder.path("file"), false) }
      let made = Mutex<NSURLDownload?>(nil)
      try await load(log, server, sessions) { download in
        download.deletesFileUponFailure = false
        made.withLock { $0 = download }
      }
      let data = try #require(made.withLock { $0 }?.resumeData)
      let next = DownloadRecorder(log.folder)
      try await resume(next, data, sessions, keepsFile: true)
      #expect(next.summary.last == "failed -1011")
      #expect(log.folder.data("file")?.count == 1_200_000)
    }
  }

  @available(*, deprecated)
  @Test func resumeDataIsNotBelieved() async throws {
    let sessions = ConnectionSessions(.loopback)
    defer { sessions.end() }
    let log = DownloadRecorder(try TemporaryFolder())
    try await resume(log, Data("nonsense".utf8), sessions)
    #expect(log.summary == ["begin", "failed -1002"])
  }

  /// Over the stores of the app, with the initialiser that apps call.
  @available(*, deprecated)
  @Test func aFileThatIsGoneFails() async throws {
    let file = FileResource(size: Self.size)
    file.update { $0.cuts = [.after(1_200_000)] }
    try await withConnections({ file.reply(to: $0) }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      let made = Mutex<NSURLDownload?>(nil)
      try await load(log, server, sessions) { download in
        download.deletesFileUponFailure = false
        made.withLock { $0 = download }
      }
      let data = try #require(made.withLock { $0 }?.resumeData)
      let next = DownloadRecorder(log.folder)
      let path = log.folder.path("gone")
      try await onRunLoop(next) { _ = NSURLDownload(resumeData: data, delegate: next, path: path) }
      #expect(next.summary.last == "failed \(URLError.Code.cannotOpenFile.rawValue)")
    }
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func downloadAndDelegateAreReleased(_ isCancelled: Bool) async throws {
    weak var weakDownload: NSURLDownload?
    weak var weakDelegate: DownloadRecorder?
    let url = try textURL("x")
    do {
      let log = DownloadRecorder(try TemporaryFolder())
      weakDelegate = log
      let made = Mutex<NSURLDownload?>(nil)
      try await onRunLoop(log) {
        let download = NSURLDownload(request: URLRequest(url: url), delegate: log)
        made.withLock { $0 = download }
        if isCancelled { download.cancel() }
      }
      weakDownload = made.withLock { $0 }
    }
    try await eventually("the delegate to be released") { weakDelegate == nil }
    try await eventually("the download to be released") { weakDownload == nil }
  }
}
