import Foundation
import Synchronization

/// The output for results. One that takes no more ends no command, which may have more to do than to print: `cancel` goes on to its
/// last transfer. The failure is told once, and decides how the program ends.
final class ResultOutput: Sendable {
  private let stream: StreamOutput
  private let tell: @Sendable (CommandFailure) -> Void
  /// Of the write that failed; 0 before.
  private let code = Mutex<Int32>(0)

  init(_ stream: StreamOutput, tell: @escaping @Sendable (CommandFailure) -> Void) {
    (self.stream, self.tell) = (stream, tell)
  }

  var isClosed: Bool { code.withLock { $0 != 0 } }

  /// A reader that has gone has seen enough: that is no failure.
  var hasFailed: Bool { code.withLock { $0 != 0 && $0 != EPIPE } }

  func write(_ bytes: ArraySlice<UInt8>) {
    let failed = code.withLock { code -> Int32 in
      guard code == 0 else { return 0 }
      code = bytes.withUnsafeBytes { stream.put($0) }
      return code
    }
    guard failed != 0, failed != EPIPE else { return }
    tell(
      CommandFailure(
        .cannotWrite, "\(stream.name) can't be written: \(String(cString: strerror(failed)))",
        advice: "make room, or choose another place for what is printed"))
  }
}
