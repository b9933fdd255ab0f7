import Foundation
import Logging
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The socket's path is removed or replaced while the service runs.
@Suite struct ListeningSocketTests {
  private let folder: TemporaryFolder
  private let logged = Recorder<String>()
  private let configuration: TransferDaemon.Configuration

  init() throws {
    folder = try TemporaryFolder()
    let log = Logger(label: "tests") { [logged] _ in RecordingLog(logLevel: .notice, logged: logged) }
    configuration = .init(
      stateDirectory: folder.path + "/state", socketPath: folder.path + "/home/run/socket", log: log)
  }

  private var runtime: String { folder.path + "/home/run" }

  /// A client that the service has greeted, as soon as its socket is there.
  private func client() async throws -> SocketClient {
    var found: SocketClient?
    try await eventually("the socket") {
      found = try? await SocketClient.connect(configuration.socketPath)
      return found != nil
    }
    let client = try #require(found)
    #expect(try await client.ask(.hello(Hello(client: "tests"))) != nil)
    return client
  }

  /// Runs the service, with a client that is connected before `change` and has to stay; another one finds the service
  /// afterwards.
  private func expectServiceIsFound(after change: () async throws -> Void) async throws {
    let daemon = try await TransferDaemon.start(configuration)
    let first = try await client()
    try await change()
    let second = try await client()
    #expect(try await first.ask(.version) != nil)
    var status = stat()
    #expect(lstat(configuration.socketPath, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    #expect(lstat(runtime, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    // Its lock is where the next service looks for it.
    #expect(try FileLock.acquire(configuration.socketPath + ".lock") == nil)
    first.close()
    second.close()
    await daemon.shutDown()
    #expect(lstat(configuration.socketPath, &status) != 0)
  }

  /// The service may be faster and have a socket in the folder again before the folder itself is removed; then it stays.
  private func removeRuntime() { try? FileManager.default.removeItem(atPath: runtime) }

  @Test func theSocketIsRemoved() async throws {
    try await expectServiceIsFound { #expect(unlink(configuration.socketPath) == 0) }
  }

  @Test func itsFolderIsRemoved() async throws {
    try await expectServiceIsFound { removeRuntime() }
  }

  @Test func itsFolderIsMoved() async throws {
    try await expectServiceIsFound { #expect(rename(runtime, runtime + "-moved") == 0) }
  }

  @Test func anotherFileTakesItsPlace() async throws {
    try await expectServiceIsFound {
      let other = runtime + "/other"
      try Data().write(to: URL(fileURLWithPath: other))
      #expect(rename(other, configuration.socketPath) == 0)
    }
  }

  @Test func itGoesAgainAndAgain() async throws {
    try await expectServiceIsFound {
      for _ in 1...5 {
        removeRuntime()
        try await client().close()
      }
    }
  }

  /// No event of the folder tells that one further up was moved, or that a file system was put over it. An app that does
  /// not find the socket starts another service, and that is told.
  @Test func aFolderFurtherUpIsMoved() async throws {
    try await expectServiceIsFound {
      #expect(rename(folder.path + "/home", folder.path + "/moved") == 0)
      #expect((try? await SocketClient.connect(configuration.socketPath)) == nil)
      await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(configuration) }
    }
  }

  /// The place of another service is left to it while it has the lock.
  @Test func theSocketOfAnotherServiceStays() async throws {
    try await expectServiceIsFound {
      let lock = configuration.socketPath + ".lock"
      #expect(unlink(lock) == 0)
      let another = try #require(try FileLock.acquire(lock))
      #expect(unlink(configuration.socketPath) == 0)
      try await eventually("the reason in the log") { logged.all.contains { $0.contains("another transfer service") } }
      #expect(!FileManager.default.fileExists(atPath: configuration.socketPath))
      withExtendedLifetime(another) {}
    }
  }

  /// A service that ends removes its own socket only.
  @Test func theSocketOfAnotherServiceOutlivesOurs() async throws {
    let daemon = try await TransferDaemon.start(configuration)
    let lock = configuration.socketPath + ".lock"
    #expect(unlink(lock) == 0)
    let another = try #require(try FileLock.acquire(lock))
    try Data("another's".utf8).write(to: URL(fileURLWithPath: runtime + "/other"))
    #expect(rename(runtime + "/other", configuration.socketPath) == 0)
    await daemon.shutDown()
    #expect(FileManager.default.contents(atPath: configuration.socketPath) == Data("another's".utf8))
    withExtendedLifetime(another) {}
  }
}
