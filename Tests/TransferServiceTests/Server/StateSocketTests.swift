import Foundation
import Logging
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// The service is found by the socket in its state folder where the runtime folder is gone and can't be made: between a
/// logout and the next login.
@Suite struct StateSocketTests {
  private let folder: TemporaryFolder
  /// A link to a file, in which no folder can be made, or to a folder.
  private var runtime: String { folder.path + "/run" }

  init() throws {
    folder = try TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    try lead(to: "file")
  }

  /// Has the runtime folder's name lead there, from one moment to the next.
  private func lead(to target: String) throws {
    let next = folder.path + "/next"
    try FileManager.default.createSymbolicLink(atPath: next, withDestinationPath: "\(folder.path)/\(target)")
    #expect(rename(next, runtime) == 0)
  }

  private func environment(_ state: String) -> [String: String] {
    ["HOME": folder.path, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": "\(folder.path)/\(state)"]
  }

  private func configuration(_ state: String = "state") -> TransferDaemon.Configuration {
    .init(
      stateDirectory: "\(folder.path)/\(state)/urlsessiond", socketPath: runtime + "/urlsessiond/socket",
      log: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
  }

  private func expectServiceIsFound(_ state: String = "state") async throws {
    let connection = try await ServiceConnection.open(startsService: false, environment: environment(state))
    #expect(connection.service.processIdentifier == getpid())
    #expect(try await connection.request(.version) == .version(connection.service))
    connection.close()
  }

  /// The address of a socket has no room for the path of the second folder.
  @Test(arguments: ["state", String(repeating: "s", count: 120)])
  func aServiceThatStartsWithoutARuntimeFolderIsFound(state: String) async throws {
    let configuration = configuration(state)
    let socket = configuration.stateDirectory + "/socket"
    let daemon = try await TransferDaemon.start(configuration)
    try await expectServiceIsFound(state)
    var status = stat()
    #expect(lstat(socket, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK && status.st_mode & 0o7777 == 0o600)
    await daemon.shutDown()
    #expect(lstat(socket, &status) != 0)
  }

  @Test func aServiceIsFoundAfterItsRuntimeFolderAndInItWhenThatIsBack() async throws {
    _ = try folder.subfolder("login")
    try lead(to: "login")
    let configuration = configuration()
    let daemon = try await TransferDaemon.start(configuration)
    try await expectServiceIsFound()
    // As at a logout.
    try? FileManager.default.removeItem(atPath: folder.path + "/login/urlsessiond")
    try lead(to: "file")
    try await expectServiceIsFound()
    // At the next login the folder is another one, and empty. An app that starts the service has it look.
    _ = try folder.subfolder("next-login")
    try lead(to: "next-login")
    await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(configuration) }
    try await eventually("the socket") { UnixListener.isAnswered(configuration.socketPath) }
    try await expectServiceIsFound()
    #expect(daemon.handover == nil)
    await daemon.shutDown()
  }

  /// The user's manager makes its socket at the login, and its service is to have the queue.
  @Test func aServiceThatWaitsForItsRuntimeFolderLeavesItToAnotherListener() async throws {
    let configuration = configuration()
    let daemon = try await TransferDaemon.start(configuration)
    let place = try folder.subfolder("login/urlsessiond")
    let listener = try UnixListener.bind(place + "/socket")
    #expect(listen(listener, 5) == 0)
    try lead(to: "login")
    await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(configuration) }
    await daemon.untilIdle()
    #expect(daemon.handover == .anotherListens)
    await daemon.shutDown()
    #expect(UnixListener.isAnswered(place + "/socket"))
    close(listener)
  }

  /// Requests carry credentials, so nothing is told where other users can put a socket.
  @Test func aStateFolderThatIsOpenToOthersIsNotAsked() async throws {
    let configuration = configuration()
    let daemon = try await TransferDaemon.start(configuration)
    chmod(configuration.stateDirectory, 0o777)
    let error = await #expect(throws: ServiceUnavailable.self) { try await expectServiceIsFound() }
    #expect(error?.reason.contains("open to other users") == true)
    chmod(configuration.stateDirectory, 0o700)
    try await expectServiceIsFound()
    await daemon.shutDown()
  }

  /// A socket that is named is the only one.
  @Test func anotherSocketThatIsNamedIsNotReplacedByThatOfTheStateFolder() async throws {
    let daemon = try await TransferDaemon.start(configuration())
    let named = environment("state").merging([ServiceNames.socketVariable: folder.path + "/other/socket"]) { $1 }
    let error = await #expect(throws: ServiceUnavailable.self) {
      _ = try await ServiceConnection.open(startsService: false, environment: named)
    }
    #expect(error?.isNotRunning == true)
    await daemon.shutDown()
  }

  @Test func withoutASocketInTheStateFolderTheOtherOneIsEnough() async throws {
    _ = try folder.subfolder("login")
    try lead(to: "login")
    let configuration = configuration()
    try PrivateDirectory.ensure(configuration.stateDirectory + "/socket/in-the-way")
    let daemon = try await TransferDaemon.start(configuration)
    try await expectServiceIsFound()
    await daemon.shutDown()
  }
}
