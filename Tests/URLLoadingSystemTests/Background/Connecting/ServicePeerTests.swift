import Foundation
import HTTPTransport
import SystemServices
import Testing

@testable import URLLoadingSystem

@Suite struct ServicePeerTests {
  private func isTrusted(_ user: uid_t, _ folder: String) async -> Bool {
    let peer = PeerCredentials(pid: 1, uid: user, gid: 0)
    return (try? await BlockingWork.files { try ServicePeer.check(peer, folder: folder) }) != nil
  }

  @Test func onlyThisUserAndTheSystemMayListen() async throws {
    let folder = NSTemporaryDirectory() + "peer-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    mkdir(folder, 0o700)
    #expect(await isTrusted(geteuid(), folder))
    #expect(await isTrusted(0, folder))
    #expect(await !isTrusted(geteuid() + 1, folder))
    chmod(folder, 0o770)
    #expect(await !isTrusted(geteuid(), folder))
    #expect(await !isTrusted(0, folder))
  }

  /// The system may keep its sockets in a folder that every user can look into.
  @Test func theSystemMayListenInAFolderOfItsOwn() async throws {
    #expect(await isTrusted(0, "/usr"))
    if geteuid() != 0 { #expect(await !isTrusted(geteuid(), "/usr")) }
    #expect(await !isTrusted(0, "/missing"))
  }
}
