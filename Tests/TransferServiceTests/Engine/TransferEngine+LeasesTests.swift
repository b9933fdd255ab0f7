import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Large files on a file system without clones, from the service to the app.
@Suite struct TransferEngineLeasesTests {
  private static let size: Int64 = 100_000

  private static func lease(_ settings: inout TransferEngine.Settings) {
    settings.leastLeasedSize = 1
    settings.laterCopyDelay = .seconds(3_600)
  }

  private func overwrite(_ path: String) {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    #expect(descriptor >= 0 && pwrite(descriptor, "xyz", 3, 0) == 3)
    close(descriptor)
  }

  @Test func aLargeFileIsLeasedUntilItIsAcknowledged() async throws {
    try await withEngine(serving: FileResource(size: Self.size), Self.lease) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      _ = try await app.create([.download(server.url("/f").absoluteString)])
      let event = try await app.nextEvent()
      let path = try #require(event.download).path
      #expect(FileIdentity(path: path) == FileIdentity(path: fixture.files.complete(1)))
      #expect(fixture.files.leases.count == 1)
      #expect(!fixture.disk.log.contains { $0.hasPrefix("copy") })
      try await app.acknowledge([event, try await app.nextEvent()])
      #expect(fixture.names("complete") == [] && fixture.names("delivery") == [] && fixture.files.leases.count == 0)
    }
  }

  /// While the app writes into its file, the service copies it.
  @Test func aFileThatTheAppWritesIntoIsDeliveredAsItWasReceived() async throws {
    try await withEngine(serving: FileResource(size: Self.size), Self.lease) { fixture, server in
      let (killed, path) = try await fixture.appWithItsEvents(server)
      overwrite(path)
      killed.disconnect()
      let next = fixture.client()
      try await next.begin()
      let event = try await next.nextEvent()
      let again = try #require(event.download)
      #expect(again.path != path && BytePattern().difference(toFile: again.path, count: Self.size) == nil)
      try await next.acknowledge([event, try await next.nextEvent()])
      #expect(server.heads.count == 1)
    }
  }

  @Test func anUnchangedFileOutlivesTheService() async throws {
    try await withEngine(serving: FileResource(size: Self.size), Self.lease) { fixture, server in
      let (_, path) = try await fixture.appWithItsEvents(server)
      let life = try await fixture.nextLife()
      #expect(fixture.files.leases.count == 0)
      let next = life.client()
      try await next.begin()
      let event = try await next.nextEvent()
      #expect(try #require(event.download).path == path && life.files.leases.count == 1)
      #expect(BytePattern().difference(toFile: path, count: Self.size) == nil)
      try await next.acknowledge([event, try await next.nextEvent()])
      #expect(server.heads.count == 1)
    }
  }

  /// The service was killed, and its lease with it.
  @Test(arguments: [true, false]) func aChangedFileIsLoadedAgain(isCut: Bool) async throws {
    try await withEngine(serving: FileResource(size: Self.size), Self.lease) { fixture, server in
      let (_, path) = try await fixture.appWithItsEvents(server)
      let life = try await fixture.nextLife()
      if isCut { #expect(truncate(path, 5) == 0) } else { overwrite(path) }
      let next = life.client()
      try await next.begin()
      let event = try await next.nextEvent()
      let again = try #require(event.download)
      #expect(BytePattern().difference(toFile: again.path, count: Self.size) == nil && server.heads.count == 2)
      let end = try await next.nextEvent()
      #expect(try #require(end.completion).failure == nil)
      try await next.acknowledge([event, end])
      try await next.eventsFinished()
      #expect(life.names("complete") == [] && life.names("delivery") == [])
    }
  }

  /// While the service does not run, or while it does.
  @Test(arguments: [true, false]) func aFileThatAFolderHasReplacedIsLoadedAgain(isRunning: Bool) async throws {
    try await withEngine(serving: FileResource(size: Self.size), Self.lease) { fixture, server in
      let (app, _) = try await fixture.appWithItsEvents(server)
      func replace() throws {
        try FileManager.default.moveItem(atPath: fixture.files.complete(1), toPath: fixture.folder.path + "/moved")
        #expect(mkdir(fixture.files.complete(1), 0o700) == 0)
      }
      if isRunning { app.disconnect() } else { await fixture.shutDown() }
      try replace()
      let life = isRunning ? fixture : try await fixture.nextLife()
      let next = life.client()
      let former = try SourceFile.open(fixture.folder.path + "/moved").regularStatus().st_ino
      try await next.begin()
      let event = try await next.nextEvent()
      let again = try #require(event.download)
      #expect(BytePattern().difference(toFile: again.path, count: Self.size) == nil && server.heads.count == 2)
      // The lease is that of the new file.
      #expect(try life.files.leases[1]?.lease.file.regularStatus().st_ino != former)
      let end = try await next.nextEvent()
      #expect(try #require(end.completion).failure == nil)
      try await next.acknowledge([event, end])
      #expect(life.names("complete") == [] && life.names("delivery") == [] && life.files.leases.count == 0)
      let dated = try #require(life.names("set-aside").first)
      #expect(life.names("set-aside/\(dated)/complete") == ["1"])
    }
  }

  @Test func aChangedFileWhoseRequestIsNotRepeatedIsLost() async throws {
    try await withEngine(serving: { _ in .ok("abc") }, Self.lease) { fixture, server in
      let (_, path) = try await fixture.appWithItsEvents(server) { $0.request.method = "POST" }
      let life = try await fixture.nextLife()
      overwrite(path)
      let next = life.client()
      try await next.begin()
      let event = try await next.nextEvent()
      #expect(event.completion?.failure?.code == URLError.Code.cannotOpenFile.rawValue && server.heads.count == 1)
      try await next.acknowledge([event])
    }
  }

  @Test func theFileOfASessionThatIsInvalidatedIsLeasedNoMore() async throws {
    try await withEngine(serving: FileResource(size: Self.size), Self.lease) { fixture, server in
      let (app, _) = try await fixture.appWithItsEvents(server)
      #expect(fixture.files.leases.count == 1)
      try await app.ask(.invalidate(SessionReference(session: "s")))
      #expect(fixture.names("complete") == [] && fixture.files.leases.count == 0)
    }
  }
}
