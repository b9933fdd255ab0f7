import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Downloads to a file of the app's choice.
@Suite struct NSURLDownloadTests {
  @available(*, deprecated)
  private func load(
    _ log: DownloadRecorder, _ request: URLRequest, _ sessions: ConnectionSessions,
    _ configure: @escaping @Sendable (NSURLDownload) -> Void = { _ in }
  ) async throws {
    try await onRunLoop(log) { configure(NSURLDownload(request: request, delegate: log, in: sessions)) }
    #expect(log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test func theFileGetsTheSuggestedName() async throws {
    try await withConnections({ _ in
      .ok("hello", fields: [("Content-Disposition", "attachment; filename=\"greeting.txt\"")])
    }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      let request = URLRequest(url: server.url("/x"))
      try await load(log, request, sessions) { #expect($0.request.url == request.url && $0.deletesFileUponFailure) }
      #expect(
        log.summary == [
          "begin", "send 0", "response", "decide greeting.txt", "created", "length", "finished",
        ])
      #expect(log.folder.names == ["greeting.txt"] && log.folder.text("greeting.txt") == "hello")
      #expect(log.paths.all == [log.folder.path("greeting.txt")])
      #expect(log.lengths.all.reduce(0, +) == 5)
    }
  }

  /// With the initialiser that apps call, without a delegate that decides.
  @available(*, deprecated)
  private final class Silent: ConnectionLog, NSURLDownloadDelegate, @unchecked Sendable {
    // Sendable by hand: a constant.
    let paths = Recorder<String>()
    func download(_ download: NSURLDownload, didCreateDestination path: String) { paths.record(path) }
    func downloadDidFinish(_ download: NSURLDownload) { end("finished") }
  }

  @available(*, deprecated)
  @Test func withoutADecisionTheFileIsATemporaryOne() async throws {
    let log = Silent()
    let url = try textURL("hello")
    try await onRunLoop(log) { _ = NSURLDownload(request: URLRequest(url: url), delegate: log) }
    let path = try #require(log.paths.all.first)
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(FileManager.default.contents(atPath: path) == Data("hello".utf8))
    #expect(log.events.all == ["finished"])
  }

  @available(*, deprecated)
  @Test func aFileThatIsThereIsNotOverwritten() async throws {
    try await withConnections({ _ in .ok("new") }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      try log.folder.write("old", to: "index.html")
      try log.folder.write("old", to: "index-1.html")
      try await load(log, URLRequest(url: server.url("/index.html")), sessions)
      #expect(log.folder.names == ["index-1.html", "index-2.html", "index.html"])
      #expect(log.folder.text("index-2.html") == "new" && log.folder.text("index.html") == "old")
      #expect(log.paths.all == [log.folder.path("index-2.html")])
    }
  }

  /// The first call counts; the delegate is not asked any more.
  @available(*, deprecated)
  @Test func aDestinationThatIsSetIsTaken() async throws {
    try await withConnections({ _ in .ok("new") }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      try log.folder.write("older and longer", to: "own")
      let path = log.folder.path("own")
      try await load(log, URLRequest(url: server.url()), sessions) {
        $0.setDestination(path, allowOverwrite: true)
        $0.setDestination("/nowhere", allowOverwrite: false)
      }
      #expect(log.summary == ["begin", "send 0", "response", "created", "length", "finished"])
      #expect(log.folder.names == ["own"] && log.folder.text("own") == "new")
    }
  }

  /// What the file was known by besides its name keeps its contents.
  @available(*, deprecated)
  @Test func aLinkIsReplacedAndNotFollowed() async throws {
    try await withConnections({ _ in .ok("new") }) { server, sessions in
      for isSymbolic in [true, false] {
        let log = DownloadRecorder(try TemporaryFolder())
        try log.folder.write("precious", to: "target")
        let (path, target) = (log.folder.path("own"), log.folder.path("target"))
        if isSymbolic {
          try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        } else {
          try FileManager.default.linkItem(atPath: target, toPath: path)
        }
        log.place = { _ in (path, true) }
        try await load(log, URLRequest(url: server.url()), sessions)
        #expect(log.summary.last == "finished" && log.folder.names == ["own", "target"])
        #expect(log.folder.text("own") == "new" && log.folder.text("target") == "precious")
        let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        #expect(type == .typeRegular)
      }
    }
  }

  /// A folder in which no file can be made: one that is there can be written. In a process of its own, since root may
  /// write everywhere.
  @available(*, deprecated)
  @Test func aFileInALockedFolderIsEmptied() async {
    await #expect(processExitsWith: .success) { try await NSURLDownloadTests().emptyFileInLockedFolder() }
  }

  @available(*, deprecated)
  private func emptyFileInLockedFolder() async throws {
    let log = DownloadRecorder(try TemporaryFolder())
    try log.folder.write("older and longer", to: "own")
    let path = log.folder.path("own")
    let parent = (path as NSString).deletingLastPathComponent
    if geteuid() == 0 {
      for name in [path, parent] { try #require(chown(name, Self.otherUser, Self.otherUser) == 0) }
      try #require(setgid(Self.otherUser) == 0 && setuid(Self.otherUser) == 0)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: parent)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: parent) }
    log.place = { _ in (path, true) }
    try await withConnections({ _ in .ok("new") }) { server, sessions in
      try await load(log, URLRequest(url: server.url()), sessions)
      #expect(log.summary.last == "finished" && log.folder.text("own") == "new")
    }
  }

  /// Owns nothing.
  private static let otherUser: UInt32 = 65_534

  /// The decision may come later, and from another thread.
  @available(*, deprecated)
  @Test func theDownloadWaitsForItsDestination() async throws {
    try await withConnections({ _ in .ok("late") }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      let folder = log.folder
      log.place = { _ in nil }
      log.onEvent = { download, event in
        guard event.hasPrefix("decide") else { return }
        DispatchQueue.global().async { download.setDestination(folder.path("late"), allowOverwrite: false) }
      }
      try await load(log, URLRequest(url: server.url()), sessions)
      #expect(log.summary.last == "finished" && log.folder.text("late") == "late")
    }
  }

  @available(*, deprecated)
  @Test func aFileThatCanNotBeMadeFailsTheDownload() async throws {
    try await withConnections({ _ in .ok("x") }) { server, sessions in
      for (name, allowOverwrite) in [("no/such/folder", false), ("", true)] {
        let log = DownloadRecorder(try TemporaryFolder())
        let path = log.folder.path(name)
        log.place = { _ in (path, allowOverwrite) }
        try await load(log, URLRequest(url: server.url()), sessions)
        #expect(log.summary.last == "failed \(URLError.Code.cannotCreateFile.rawValue)")
      }
    }
  }

  // MARK: Requests and challenges

  @available(*, deprecated)
  @Test func redirectsAreToldAndMayBeRefused() async throws {
    try await withConnections({ $0.target == "/old" ? .redirect(to: "/new") : .ok("new") }) { server, sessions in
      for isFollowed in [true, false] {
        let log = DownloadRecorder(try TemporaryFolder())
        log.onSend = { request, response in response == nil || isFollowed ? request : nil }
        try await load(log, URLRequest(url: server.url("/old")), sessions)
        #expect(log.events.all.prefix(3) == ["begin", "send 0", "send 302"])
        #expect(log.summary.last == (isFollowed ? "finished" : "failed -999"))
        #expect(log.folder.names == (isFollowed ? ["new.txt"] : []))
      }
    }
  }

  @available(*, deprecated)
  private final class Asked: ConnectionLog, NSURLDownloadDelegate, @unchecked Sendable {
    // Sendable by hand: constants.
    let usesStorage: Bool
    let canAuthenticate: Bool
    let path: String
    let answer: @Sendable (URLAuthenticationChallenge) -> Void
    init(
      _ path: String, usesStorage: Bool = true, canAuthenticate: Bool = true,
      _ answer: @escaping @Sendable (URLAuthenticationChallenge) -> Void
    ) {
      (self.path, self.usesStorage, self.canAuthenticate, self.answer) = (path, usesStorage, canAuthenticate, answer)
    }

    func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool { usesStorage }
    func download(
      _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
      note("can \(protectionSpace.realm ?? "")")
      return canAuthenticate
    }
    func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge) {
      note("challenge \(challenge.previousFailureCount)")
      answer(challenge)
    }
    func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge) { note("cancel") }
    func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {
      download.setDestination(path, allowOverwrite: true)
    }
    func downloadDidFinish(_ download: NSURLDownload) { end("finished") }
    func download(_ download: NSURLDownload, didFailWithError error: any Error) { fail(error) }
  }

  private static func ann(_ password: String) -> URLCredential {
    URLCredential(user: "ann", password: password, persistence: .forSession)
  }

  private static let guarded: LoopbackServer.Handler = {
    $0.value("Authorization") == basic("ann", "1") ? .ok("in") : .unauthorized(#"Basic realm="r""#, body: "no")
  }

  @available(*, deprecated)
  @Test func challengesAreAnsweredThroughTheirSender() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("file")
    let rows: [(Asked, [String], String?)] = [
      (
        Asked(path) { $0.sender?.use(Self.ann($0.previousFailureCount == 0 ? "2" : "1"), for: $0) },
        ["can r", "challenge 0", "can r", "challenge 1", "finished"], "in"
      ),
      (Asked(path) { $0.sender?.continueWithoutCredential(for: $0) }, ["can r", "challenge 0", "finished"], "no"),
      (Asked(path, canAuthenticate: false) { _ in }, ["can r", "finished"], "no"),
      (Asked(path) { $0.sender?.cancel($0) }, ["can r", "challenge 0", "cancel", "failed -1012"], nil),
    ]
    for (log, events, text) in rows {
      try await withConnections(Self.guarded) { server, sessions in
        let request = URLRequest(url: server.url())
        try await onRunLoop(log) { _ = NSURLDownload(request: request, delegate: log, in: sessions) }
        #expect(log.events.all == events && log.strays.all.isEmpty)
        if let text { #expect(folder.text("file") == text) }
      }
    }
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func theDelegateDecidesAboutStoredCredentials(_ usesStorage: Bool) async throws {
    let folder = try TemporaryFolder()
    try await withConnections(Self.guarded) { server, sessions in
      let space = URLProtectionSpace(
        host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      sessions.stored.configuration.urlCredentialStorage?.setDefaultCredential(Self.ann("1"), for: space)
      let log = Asked(folder.path("file"), usesStorage: usesStorage) { $0.sender?.continueWithoutCredential(for: $0) }
      let request = URLRequest(url: server.url())
      try await onRunLoop(log) { _ = NSURLDownload(request: request, delegate: log, in: sessions) }
      #expect(log.events.all == (usesStorage ? ["can r", "finished"] : ["can r", "challenge 0", "finished"]))
      #expect(folder.text("file") == (usesStorage ? "in" : "no"))
    }
  }

  @available(*, deprecated)
  @Test func nothingIsCached() async throws {
    let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    try await withConnections(
      { _ in .ok("x", fields: [("Cache-Control", "max-age=3600")]) }, configure: { $0.urlCache = cache }
    ) { server, sessions in
      let request = URLRequest(url: server.url())
      try await load(DownloadRecorder(try TemporaryFolder()), request, sessions)
      #expect(cache.cachedResponse(for: request) == nil)
    }
  }
}
