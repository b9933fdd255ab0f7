import Foundation
import Synchronization

/// A terminal whose whole screen is ours and whose keys come at once: its other screen (ECMA-48, and xterm's private mode
/// 1049), no echo, no lines. `restore` gives it back as it was; it may be called from any thread, and more than once.
final class FullScreenTerminal: Sendable {
  private let input: Int32
  private let output: Int32
  private let original: Mutex<termios?>

  /// nil when one of the two is no terminal.
  init?(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO) {
    var settings = termios()
    guard isatty(output) == 1, tcgetattr(input, &settings) == 0 else { return nil }
    self.input = input
    self.output = output
    original = Mutex(settings)
    cfmakeraw(&settings)
    guard tcsetattr(input, TCSAFLUSH, &settings) == 0 else { return nil }
    write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
  }

  deinit { restore() }

  func restore() {
    original.withLock { original in
      guard var settings = original else { return }
      original = nil
      write("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
      tcsetattr(input, TCSAFLUSH, &settings)
    }
  }

  var size: TopScreen.Size {
    var size = winsize()
    guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return TopScreen.Size(columns: 80, rows: 24)
    }
    return TopScreen.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  func draw(_ lines: [TopScreen.Line]) {
    let texts = lines.map { line in
      let code =
        switch line.style {
        case .plain: ""
        case .strong: "\u{1B}[1m"
        case .selected: "\u{1B}[7m"
        }
      return "\(code)\(line.text)\u{1B}[0m\u{1B}[K"
    }
    write("\u{1B}[H" + texts.joined(separator: "\r\n") + "\u{1B}[J")
  }

  private func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(output, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      bytes = bytes.dropFirst(max(count, 0))
    }
  }
}
