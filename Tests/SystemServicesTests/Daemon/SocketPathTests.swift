import Foundation
import SystemServices
import Testing

@Suite struct SocketPathTests {
  @Test(arguments: [10, 107, 108, 200]) func aSocketIsReachedHoweverLongItsPathIs(length: Int) throws {
    let root = "/tmp/sockets-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: root) }
    let folder = root + "/" + String(repeating: "f", count: max(1, length - root.utf8.count - "//socket".utf8.count))
    try PrivateDirectory.ensure(folder)
    let path = folder + "/socket"
    #expect(!UnixListener.isAnswered(path))
    let listener = try UnixListener.bind(path)
    defer { close(listener) }
    var status = stat()
    #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    #expect(listen(listener, 1) == 0 && UnixListener.isAnswered(path))
    #expect(try SocketPath(path).text.utf8.count <= 107)
  }

  @Test func aPathThatNoDescriptorShortensIsRefused() {
    #expect(throws: SystemError.self) { try SocketPath("/tmp/" + String(repeating: "n", count: 120)) }
    let absent = "/nowhere/" + String(repeating: "f", count: 120) + "/socket"
    #expect(throws: SystemError.self) { try SocketPath(absent) }
    #expect(!UnixListener.isAnswered(absent))
  }
}
