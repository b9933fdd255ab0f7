import CommandLineOutput
import Foundation
import LoopbackServer
import URLLoadingSystem

/// Shows that a background download survives everything: the connection is cut twice, the app is killed at a third,
/// the transfer service at two thirds, and the file arrives whole.
@main
struct Demo {
  private static let size: Int64 = 200_000_000
  private static let bytesPerSecond = 16_000_000
  private static let patience = Duration.seconds(55)

  static func main() async {
    do {
      try await run()
      say("demo: PASSED")
    } catch {
      say("demo: FAILED: \(error)")
      exit(1)
    }
  }

  private static func run() async throws {
    let place = try Workplace()
    defer { place.remove() }
    let file = FileResource(size: size)
    file.update {
      $0.bytesPerSecond = bytesPerSecond
      $0.cuts = [.after(size / 6), .after(size / 4)]
    }
    let server = try await LoopbackServer.start { file.reply(to: $0) }
    say("serving \(ByteFormat.bytes(size)) at \(ByteFormat.rate(Double(bytesPerSecond))) on \(server.url("/file"))")

    let expected = place.path("expected")
    try file.version.pattern.write(toFile: expected, count: size)
    let target = place.path("received")
    let app = try place.start("background-download", [server.url("/file").absoluteString, target])
    say("started the app, process \(app.processIdentifier)")

    let printer = ProgressPrinter(label: "download")
    var appIsKilled = false
    var serviceIsKilled = false
    let deadline = ContinuousClock.now + patience
    while try !logIsComplete(target) {
      guard ContinuousClock.now < deadline else { throw Failure("the file did not arrive in time") }
      let arrived = file.served.map { $0.offset + $0.sent }.max() ?? 0
      printer.update(done: arrived, total: size)
      if !appIsKilled, arrived > size / 3 {
        appIsKilled = true
        kill(app.processIdentifier, SIGKILL)
        app.waitUntilExit()
        printer.say("killed the app with SIGKILL at \(percent(arrived))")
      }
      if !serviceIsKilled, arrived > size / 3 * 2 {
        serviceIsKilled = true
        let pid = try await place.servicePID()
        kill(pid, SIGKILL)
        printer.say("killed the transfer service, process \(pid), with SIGKILL at \(percent(arrived))")
      }
      // The server tells how far it is; this only redraws the bar.
      try await Task.sleep(for: .milliseconds(50))
    }
    printer.update(done: size, total: size)
    printer.finish()
    guard appIsKilled, serviceIsKilled else { throw Failure("the transfer ended before everything was killed") }

    for line in try log(target) { say("  " + line) }
    guard try log(target).allSatisfy({ !$0.contains("process \(app.processIdentifier):") }) else {
      throw Failure("the events went to a process that was dead")
    }
    let (wanted, got) = (try sha256(expected), try sha256(target))
    say("SHA-256 expected \(wanted)")
    say("SHA-256 received \(got)")
    guard wanted == got else { throw Failure("the file is not the one that was served") }
    // Two cuts and the death of the service: four requests, of which three only for the rest.
    let served = file.served
    guard served.count == 4, served.dropFirst().allSatisfy({ $0.status == 206 }) else {
      throw Failure("the transfer was not resumed each time: \(served.map { "\($0.status) from \($0.offset)" })")
    }
    let twice = file.bytesSent - size
    guard twice < size / 4 else { throw Failure("\(ByteFormat.bytes(twice)) travelled twice") }
    say("\(served.count) requests; \(ByteFormat.bytes(twice)) of \(ByteFormat.bytes(size)) travelled twice")
    await server.shutdown()
  }

  private static func log(_ target: String) throws -> [String] {
    try String(contentsOfFile: target + ".log", encoding: .utf8).split(separator: "\n").map(String.init)
  }

  private static func logIsComplete(_ target: String) throws -> Bool {
    guard FileManager.default.fileExists(atPath: target + ".log") else { return false }
    return try log(target).contains { $0.hasSuffix("completed") || $0.contains("failed: ") }
  }

  private static func percent(_ bytes: Int64) -> String { "\(bytes * 100 / size) %" }

  /// By the system's own program: it shares no code with us.
  private static func sha256(_ path: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
    process.arguments = [path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0, let sum = text.split(separator: " ").first else {
      throw Failure("sha256sum could not read \(path)")
    }
    return String(sum)
  }

  private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
