import Foundation

/// How many instructions the threads of this process carry out outside the kernel, where it runs under callgrind and the
/// library of `Counting` is loaded into it.
enum InstructionCount {
  private typealias Call = @convention(c) () -> Void

  /// Begins to count. Nothing happens where nothing counts them.
  static func begin() { call("instructions_begin") }

  /// Ends the count: the instructions since `begin()`. nil where nothing counts them.
  static func end() -> UInt64? {
    guard let file = ProcessInfo.processInfo.environment["INSTRUCTIONS"] else { return nil }
    call("instructions_end")
    guard let text = try? String(contentsOfFile: "\(file).1", encoding: .utf8) else { fail("\(file).1 is not there") }
    let total = text.split(separator: "\n").lazy.last { $0.hasPrefix("totals: ") }
    guard let total, let count = UInt64(total.dropFirst("totals: ".count)) else { fail("\(file).1 has no total") }
    return count
  }

  private static func call(_ name: String) {
    guard let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: 0), name) else { return }
    unsafeBitCast(symbol, to: Call.self)()
  }
}
