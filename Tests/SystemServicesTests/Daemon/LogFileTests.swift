import Foundation
import Testing

@testable import SystemServices

@Suite struct LogFileTests {
  private let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)"

  private func size(_ name: String) throws -> Int64 { try LinuxFileSystem().size(of: "\(folder)/\(name)") ?? 0 }

  @Test func aLogIsLimitedWhileItIsWritten() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let descriptors = (0..<2).map { _ in open(folder + "/log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
    defer { for descriptor in descriptors { close(descriptor) } }
    let log = LogFile(path: folder + "/log", descriptor: descriptors[0], maximumSize: 200_000)
    let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
    for _ in 0..<2_000 { log.write(line) }
    #expect(try size("log") <= 200_000 + 65_536 + 1_000)
    #expect(try size("log.1") > 200_000 && size("log.1") <= 200_000 + 65_536 + 1_000)
    // Another process goes on with the same file, behind what is there.
    let before = try size("log")
    #expect(write(descriptors[1], line, line.count) == line.count)
    #expect(try size("log") == before + 1_000)
    let kept = try Data(contentsOf: URL(fileURLWithPath: folder + "/log"))
    #expect(!kept.contains(0) && kept.count == before + 1_000)
  }

  /// As after an update to a service that limits it.
  @Test func aLogThatIsTooLongAtTheStartIsLimitedAtOnce() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data(count: 300_000).write(to: URL(fileURLWithPath: folder + "/log"))
    let descriptor = open(folder + "/log", O_WRONLY | O_APPEND | O_CLOEXEC)
    defer { close(descriptor) }
    LogFile(path: folder + "/log", descriptor: descriptor, maximumSize: 100_000).write([1])
    #expect(try size("log") == 0)
    #expect(try size("log.1") == 100_000 + 65_536)
  }
}
