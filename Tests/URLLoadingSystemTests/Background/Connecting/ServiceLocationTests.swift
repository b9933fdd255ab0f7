import Foundation
import SystemServices
import Testing
import TransferProtocol

@testable import URLLoadingSystem

@Suite struct ServiceLocationTests {
  @Test func aProgramThatOtherUsersCanReplaceIsIgnored() throws {
    let folder = NSTemporaryDirectory() + "location-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["open", "closed"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: "/bin/true", toPath: "\(folder)/\(name)/urlsessiond")
    }
    chmod(folder + "/open", 0o777)
    chmod(folder + "/closed", 0o755)
    let candidates = ["none", "open", "closed"].map { "\(folder)/\($0)/urlsessiond" }
    #expect(ServiceLocation.trusted(candidates) == candidates[2])
    #expect(ServiceLocation.trusted(Array(candidates.prefix(2))) == nil)
    // The variable names the program outright.
    let location = try ServiceLocation(environment: [
      "XDG_RUNTIME_DIR": folder, ServiceNames.programVariable: candidates[1],
    ])
    #expect(location.program == candidates[1])
    for none in ["\(folder)/open", candidates[0]] {
      let location = try ServiceLocation(environment: [
        "XDG_RUNTIME_DIR": folder, ServiceNames.programVariable: none,
      ])
      #expect(location.program == nil, "\(none)")
    }
  }

  /// The damaged queue is set aside, and the new one has no name yet.
  @Test(arguments: ["queue.sqlite", "queue-copy.sqlite", "copy-of-queue.sqlite", "quarantine.json"])
  func aQueueThatIsBeingMadeAnewIsOne(name: String) throws {
    let home = NSTemporaryDirectory() + "location-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: home) }
    let location = try ServiceLocation(environment: [
      "HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_RUNTIME_DIR": home + "/run",
    ])
    let folder = home + "/state/urlsessiond"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(!location.hasQueue)
    try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    #expect(location.hasQueue)
  }

  /// The tasks in a queue that can't be seen now are waited for.
  @Test(arguments: [
    (EIO, true), (ESTALE, true), (EACCES, true), (ENOENT, false), (ENOTDIR, false), (ELOOP, false),
    (ENAMETOOLONG, false),
  ])
  func aFolderThatCannotBeLookedIntoMayHaveAQueue(code: Int32, mayHide: Bool) {
    #expect(ServiceLocation.mayHide(code, in: NSTemporaryDirectory()) == (mayHide && (code != EACCES || isOwn)))
    #expect(!ServiceLocation.mayHide(EACCES, in: NSTemporaryDirectory() + "none-\(UUID().uuidString)/queue"))
  }

  private var isOwn: Bool {
    var status = stat()
    return stat(NSTemporaryDirectory(), &status) == 0 && status.st_uid == geteuid()
  }

  /// A service of the user's manager may have other folders in its environment than the app.
  @Test func aQueueIsFoundByTheNoteOfItsService() throws {
    let home = NSTemporaryDirectory() + "location-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: home) }
    let elsewhere = home + "/elsewhere"
    try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: elsewhere + "/queue.sqlite"))
    let environment = ["HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_RUNTIME_DIR": home + "/run"]
    func location(_ variables: [String: String] = [:]) throws -> ServiceLocation {
      try ServiceLocation(environment: environment.merging(variables) { $1 })
    }
    #expect(try !location().hasQueue)
    let note = ServiceNote(socket: try location().socket, stateFolder: elsewhere)
    let path = ServiceNote.path(environment: environment)
    try note.write(to: path)
    #expect(try location().hasQueue && location().stateFolders == [home + "/state/urlsessiond", elsewhere])
    // That of another service says nothing.
    #expect(try !location(["URLSESSIOND_SOCKET": home + "/other/socket"]).hasQueue)
    #expect(try !location(["XDG_RUNTIME_DIR": home + "/other"]).hasQueue)
    // Nor does one that other users can write.
    chmod(path, 0o666)
    #expect(try !location().hasQueue)
    chmod(path, 0o600)
    try FileManager.default.removeItem(atPath: elsewhere)
    #expect(try !location().hasQueue)
  }
}
