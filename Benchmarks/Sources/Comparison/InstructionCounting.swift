import Foundation

/// How a client is started so that its instructions are counted: by callgrind, which translates each of them.
struct InstructionCounting {
  static let program = "/usr/bin/valgrind"

  /// What callgrind writes, with a number behind its name.
  let file: String
  private let client: String

  /// Makes a copy of a client without what a debugger reads, which valgrind does not understand.
  init(_ path: String, in folder: String) throws {
    file = "\(folder)/callgrind"
    client = "\(folder)/client"
    let strip = try Process.run(
      URL(fileURLWithPath: "/usr/bin/strip"), arguments: ["--strip-debug", "-o", client, path])
    strip.waitUntilExit()
    guard strip.terminationStatus == 0 else { throw ComparisonError("strip \(path)\n  failed") }
  }

  /// Nothing is counted before the client asks for it. Its threads run in turn, since only one runs at a time.
  var arguments: [String] {
    [
      "--quiet", "--fair-sched=yes", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=\(file)", client,
    ]
  }
}
