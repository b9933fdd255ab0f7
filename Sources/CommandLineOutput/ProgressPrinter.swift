import Foundation
import Synchronization

/// Shows progress on standard error: one line that is redrawn on a terminal, and otherwise a plain line now and then,
/// so that a log stays readable. May be used from any thread.
package final class ProgressPrinter: Sendable {
  private struct State {
    var meter = ProgressMeter()
    var lastDrawn = -Double.infinity
    var lastTenth = -1
    var hasLine = false
    var isFinished = false
  }

  private let label: String
  private let isTerminal: Bool
  private let isQuiet: Bool
  private let state = Mutex(State())
  private let started = ContinuousClock.now

  package init(label: String = "", isQuiet: Bool = false) {
    self.label = label
    self.isQuiet = isQuiet
    isTerminal = isatty(STDERR_FILENO) == 1
  }

  /// `total` is nil or negative when it is not known.
  package func update(done: Int64, total: Int64?) {
    let time = (ContinuousClock.now - started) / .seconds(1)
    state.withLock { state in
      guard !state.isFinished else { return }
      state.meter.update(done: done, total: total, at: time)
      guard !isQuiet else { return }
      if isTerminal {
        guard time - state.lastDrawn >= 0.1 || state.meter.fraction == 1 else { return }
        state.lastDrawn = time
        draw(&state)
      } else {
        printPlainly(&state, at: time)
      }
    }
  }

  /// Ends the line, so that what is printed next starts on one of its own.
  package func finish() {
    state.withLock { state in
      guard !state.isFinished else { return }
      state.isFinished = true
      guard state.hasLine, isTerminal, !isQuiet else { return }
      draw(&state)
      write("\n")
    }
  }

  /// Prints a line above the bar.
  package func say(_ line: String) {
    state.withLock { state in
      write((state.hasLine && isTerminal && !state.isFinished ? "\r\u{1B}[K" : "") + line + "\n")
      if state.hasLine, isTerminal, !state.isFinished, !isQuiet { draw(&state) }
    }
  }

  private func draw(_ state: inout State) {
    state.hasLine = true
    write("\r\u{1B}[K" + ProgressLine.bar(state.meter, label: label, width: ProgressPrinter.terminalWidth()))
  }

  /// At every tenth of a known total; every 5 seconds of an unknown one.
  private func printPlainly(_ state: inout State, at time: Double) {
    let tenth = state.meter.fraction.map { Int($0 * 10) }
    guard tenth.map({ $0 != state.lastTenth }) ?? (time - state.lastDrawn >= 5) else { return }
    state.lastTenth = tenth ?? -1
    state.lastDrawn = time
    write(ProgressLine.plain(state.meter, label: label) + "\n")
  }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

  private static func terminalWidth() -> Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col) - 1
  }
}
