import Foundation
import Synchronization

/// Shows progress on standard error: one line that is redrawn on a terminal, and otherwise a plain line now and then,
/// so that a log stays readable. May be used from any thread.
package final class ProgressPrinter: Sendable {
  private struct State {
    var meter = ProgressMeter()
    var label: String
    /// Stands in place of the figures: why nothing moves.
    var note: String?
    var lastDrawn = -Double.infinity
    var lastTenth = -1
    var hasLine = false
    var isFinished = false
  }

  private let isTerminal: Bool
  private let isQuiet: Bool
  private let state: Mutex<State>
  private let started = ContinuousClock.now

  package init(label: String = "", isQuiet: Bool = false) {
    self.isQuiet = isQuiet
    isTerminal = isatty(STDERR_FILENO) == 1
    state = Mutex(State(label: label))
  }

  /// `total` is nil or negative when it is not known.
  package func update(done: Int64, total: Int64?) {
    let time = (ContinuousClock.now - started) / .seconds(1)
    state.withLock { state in
      guard !state.isFinished else { return }
      state.meter.update(done: done, total: total, at: time)
      state.note = nil
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

  /// Shows a sentence in place of the figures until the next update: why nothing moves.
  package func show(_ note: String) {
    state.withLock { state in
      guard !state.isFinished, !isQuiet, state.note != note else { return }
      state.note = note
      if isTerminal { draw(&state) } else { write((state.label.isEmpty ? "" : state.label + " ") + note + "\n") }
    }
  }

  /// Names what is counted from now on.
  package func relabel(_ label: String) {
    state.withLock { state in
      guard state.label != label else { return }
      state.label = label
      if state.hasLine, isTerminal, !state.isFinished, !isQuiet { draw(&state) }
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

  /// Takes the line away, where there is one; what is printed next stands in its place.
  package func clear() {
    state.withLock { state in
      guard !state.isFinished else { return }
      state.isFinished = true
      if state.hasLine, isTerminal { write("\r\u{1B}[K") }
    }
  }

  /// Prints a line above the bar.
  ///
  /// - Parameter print: Prints it elsewhere than on standard error.
  package func say(_ line: String, with print: ((String) -> Void)? = nil) {
    state.withLock { state in
      let isDrawn = state.hasLine && isTerminal && !state.isFinished
      if isDrawn { write("\r\u{1B}[K") }
      if let print { print(line) } else { write(line + "\n") }
      if isDrawn, !isQuiet { draw(&state) }
    }
  }

  private func draw(_ state: inout State) {
    state.hasLine = true
    let width = ProgressPrinter.terminalWidth()
    let line =
      if let note = state.note {
        ProgressLine.note(note, label: state.label, width: width)
      } else {
        ProgressLine.bar(state.meter, label: state.label, width: width)
      }
    write("\r\u{1B}[K" + line)
  }

  /// At every tenth of a known total; every 5 seconds of an unknown one.
  private func printPlainly(_ state: inout State, at time: Double) {
    let tenth = state.meter.fraction.map { Int($0 * 10) }
    guard tenth.map({ $0 != state.lastTenth }) ?? (time - state.lastDrawn >= 5) else { return }
    // A transfer that is complete at the first look needs no progress.
    guard state.lastTenth >= 0 || state.meter.fraction != 1 else { return }
    state.lastTenth = tenth ?? -1
    state.lastDrawn = time
    write(ProgressLine.plain(state.meter, label: state.label) + "\n")
  }

  private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }

  private static func terminalWidth() -> Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col) - 1
  }
}
