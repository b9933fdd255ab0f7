import Foundation
import LoopbackServer
import Testing

@testable import urlsession

/// Results that can't be written.
@Suite struct ResultOutputTests {
  @Test func aFailureIsToldOnceAndCounts() throws {
    let told = Recorder<CommandFailure>()
    let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let output = ResultOutput(StreamOutput(descriptor: descriptor, name: "it")) { told.record($0) }
    #expect(!output.isClosed && !output.hasFailed)
    for _ in 1...2 { output.write(Array("line\n".utf8)[...]) }
    #expect(output.isClosed && output.hasFailed)
    #expect(told.all.map(\.status) == [.cannotWrite])
    #expect(told.all.first?.what == "it can't be written: No space left on device")
  }

  /// Runs `urlsession` with its output as a shell has it.
  ///
  /// - Parameter preparation: Commands of the shell before it.
  private func run(_ command: String, after preparation: String = "", in sandbox: Sandbox) async throws -> Ended {
    let script = "\(preparation) \(Sandbox.program("urlsession")) \(command)"
    return try await RunningProgram(
      "/bin/bash", arguments: ["-c", script], environment: sandbox.environment,
      folder: sandbox.work, files: "\(sandbox.home.path)/tmp/\(UUID().uuidString)", input: nil
    ).ended()
  }

  @Test(arguments: ["list --json", "doctor --json", "doctor", "cookies list --netscape"])
  func aCommandWhoseResultIsLostFails(_ command: String) async throws {
    let sandbox = try Sandbox()
    let ended = try await run("\(command) > /dev/full", in: sandbox)
    #expect(ended.status == 23, "\(ended.errors)")
    let line = "urlsession: standard output can't be written: No space left on device:"
    #expect(ended.errors.contains(line), "\(ended.errors)")
  }

  @Test func aReaderThatHasSeenEnoughIsNoFailure() async throws {
    let sandbox = try Sandbox()
    // The program begins when the reader has gone.
    let ended = try await run("list --json >&3", after: "exec 3> >(exit 0); wait $!;", in: sandbox)
    #expect(ended.status == 0 && ended.errors == "", "\(ended.errors)")
  }

  /// The number of its descriptor would be that of another file.
  @Test func anOutputThatIsClosedIsAFailure() async throws {
    let sandbox = try Sandbox()
    let ended = try await run("list --json <&- >&-", in: sandbox)
    #expect(ended.status == 23, "\(ended.errors)")
    #expect(ended.errors.contains("standard output can't be written: Bad file descriptor:"), "\(ended.errors)")
  }

  /// Its result is what it does.
  @Test func allTransfersAreCancelledWithoutRoomForTheLines() async throws {
    let sandbox = try Sandbox()
    let server = try await LoopbackServer.start { _ in .never }
    var numbers: [String] = []
    for name in ["a", "b"] {
      let queued = try await sandbox.run("download", "--json", "-o", name, server.url("/").absoluteString)
      numbers.append("\(try #require(try queued.json()["transfer"] as? Int, "\(queued.errors)"))")
    }
    let ended = try await run("cancel \(numbers.joined(separator: " ")) > /dev/full", in: sandbox)
    #expect(ended.status == 23, "\(ended.errors)")
    for number in numbers { #expect(try await sandbox.run("why", number).text.contains("was cancelled")) }
    let waiting = try await run("wait --json \(numbers.joined(separator: " ")) > /dev/full", in: sandbox)
    #expect(waiting.status == 75 && waiting.errors.contains("standard output can't be written"), "\(waiting.errors)")
    await server.shutdown()
  }
}
