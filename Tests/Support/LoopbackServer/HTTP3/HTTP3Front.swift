import ChildProcess
import Foundation

/// A program in front of loopback servers, made of Python's `aioquic` and `h2`, that speaks HTTP/3 with their clients. One for
/// all servers of this process, with which it ends.
package final class HTTP3Front: Sendable {
  package static let shared = Result { try HTTP3Front() }

  /// The program has ended; what it said of that is among the errors of the tests.
  package struct Ended: Error {}

  private let process = ChildProcess()
  private let commands: FileHandle
  /// Keeps the pipe readable: writing to a program that has ended must not raise SIGPIPE.
  private let echo: FileHandle
  private struct Said: Sendable {
    /// The ports of clients, by those of servers.
    var ports: [Int: Int] = [:]
    var hasEnded = false
  }

  private let said = Monitor(Said())

  /// Where Scripts/bootstrap puts it.
  private static var interpreter: String {
    FileManager.default.currentDirectoryPath + "/.build/python/bin/python3"
  }

  /// Whether HTTP/3 is in this build and the program can run; in continuous integration it has to.
  package static var runsHere: Bool {
    let environment = ProcessInfo.processInfo.environment
    guard environment["HTTP3"] != nil else { return false }
    return FileManager.default.isExecutableFile(atPath: interpreter) || !(environment["CI"] ?? "").isEmpty
  }

  private init() throws {
    let identity = try TestCertificates.shared().localhost
    let input = Pipe()
    let output = Pipe()
    commands = input.fileHandleForWriting
    echo = FileHandle(fileDescriptor: dup(input.fileHandleForReading.fileDescriptor), closeOnDealloc: true)
    for file in [commands, echo, output.fileHandleForReading] { _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC) }
    process.executableURL = URL(fileURLWithPath: HTTP3Front.interpreter)
    process.arguments = ["-u", "-c", HTTP3Front.script, identity.certificateFile, identity.keyFile]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let reader = output.fileHandleForReading
    Thread { [said] in HTTP3Front.read(reader, into: said) }.start()
  }

  private static func read(_ output: FileHandle, into said: Monitor<Said>) {
    var text = ""
    while true {
      let data = output.availableData
      guard !data.isEmpty else { return said.update { $0.hasEnded = true } }
      text += String(decoding: data, as: UTF8.self)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      text = lines.last.map { String($0) } ?? ""
      for line in lines.dropLast() {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        if numbers.count == 2 { said.update { $0.ports[numbers[0]] = numbers[1] } }
      }
    }
  }

  /// The port of UDP that leads to a server's port of TCP.
  func open(_ port: Int) async throws -> Int {
    said.update { $0.ports[port] = nil }
    try commands.write(contentsOf: Data("open \(port)\n".utf8))
    return try await within(patience, "the front of HTTP/3") { [said] in
      try await said.wait { $0.hasEnded ? .failure(Ended()) : $0.ports[port].map { Result<Int, Ended>.success($0) } }
    }.get()
  }

  func close(_ port: Int) { try? commands.write(contentsOf: Data("close \(port)\n".utf8)) }
}
