import ChildProcess
import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Processes that write one store of cookies, and are killed while they do.
@Suite(.fewAtATime) struct CookieKillTests {
  private static let rounds = 50
  private static let names = ["a", "b", "c", "d"]

  @Test func killedWritersLeaveWholeChangesAndLoseNoneThatWasWritten() async throws {
    let folder = NSTemporaryDirectory() + "cookie-kills-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var written: [String: Int] = [:]
    for round in 1...Self.rounds {
      let writers = try Self.names.map { try Writer(folder: folder, name: $0, start: round * 100_000) }
      // The last ones are killed soon after their first change, the others after many.
      for (index, writer) in writers.enumerated() {
        try await eventually("the first change of \(writer.name)", every: .milliseconds(2 + index)) {
          writer.last != nil
        }
      }
      for writer in writers { kill(writer.process.processIdentifier, SIGKILL) }
      for writer in writers {
        writer.process.waitUntilExit()
        written[writer.name] = writer.last ?? 0
      }
      let storage = HTTPCookieStorage(directory: folder + "/store")
      let cookies = Dictionary((storage.cookies ?? []).map { ($0.name, $0.value) }) { $1 }
      for (name, number) in written {
        let (left, right) = (cookies[name + "left"], cookies[name + "right"])
        #expect(left == right)
        #expect(left.flatMap { Int($0) }.map { $0 >= number } == true, "\(name) has \(left ?? "none") of \(number)")
      }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder + "/store")
    #expect(!names.contains { $0.contains("damaged") })
  }

  private struct Writer {
    let name: String
    let process = ChildProcess()
    private let output: String

    init(folder: String, name: String, start: Int) throws {
      self.name = name
      output = "\(folder)/\(name)-\(start)"
      guard FileManager.default.createFile(atPath: output, contents: nil),
        let handle = FileHandle(forWritingAtPath: output)
      else { throw CocoaError(.fileWriteUnknown) }
      process.executableURL = URL(fileURLWithPath: Programs.path("store-app"))
      process.arguments = ["cookies", folder + "/store", name, "\(start)"]
      process.standardOutput = handle
      try process.run()
    }

    /// The last number that the writer has printed; nil for none.
    var last: Int? {
      let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
      // A line is whole with its end.
      return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().last.flatMap { Int($0) }
    }
  }
}
