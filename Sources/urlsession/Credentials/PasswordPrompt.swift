import Foundation
import SystemServices

/// Asks on the terminal for a password, which is not shown as it is typed.
enum PasswordPrompt {
  /// The program has no terminal on which it could ask.
  struct NoTerminal: Error {}

  /// - Returns: nil where the input ends before a password is typed.
  @Sendable static func ask(_ question: String) throws(NoTerminal) -> SecretBytes? {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { throw NoTerminal() }
    defer { close(terminal) }
    return HiddenTyping.on(terminal) {
      write(question, to: terminal)
      let answer = readLine(from: terminal)
      write("\n", to: terminal)
      return answer
    }
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      bytes = bytes.dropFirst(max(count, 0))
    }
  }

  /// A line longer than a terminal takes is cut off.
  private static func readLine(from descriptor: Int32) -> SecretBytes? {
    var hasEnded = false
    let line = try? SecretBytes(capacity: 4096) { buffer in
      var count = 0
      while count < buffer.count {
        let result = read(descriptor, buffer.baseAddress?.advanced(by: count), 1)
        if result < 0, errno == EINTR { continue }
        guard result == 1 else {
          hasEnded = true
          break
        }
        if buffer[count] == UInt8(ascii: "\n") { break }
        count += 1
      }
      return count
    }
    return hasEnded && line?.isEmpty != false ? nil : line
  }
}
