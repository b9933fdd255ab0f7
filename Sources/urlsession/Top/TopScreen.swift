import CommandLineOutput
import Foundation
import TransferProtocol

/// The lines of the live view for a size: nothing is wider or longer than the screen.
enum TopScreen {
  struct Size: Sendable, Equatable {
    var columns: Int
    var rows: Int
  }

  struct Line: Sendable, Equatable {
    enum Style: Sendable { case plain, strong, selected }

    var text: String
    var style = Style.plain
  }

  /// The lines that are no transfers: a summary, the titles, the reason of the selected one, the keys.
  private static let frame = 4

  /// How many transfers fit.
  static func page(_ size: Size) -> Int { max(0, size.rows - frame) }

  static func lines(_ model: TopModel, size: Size, now: Date = Date()) -> [Line] {
    guard size.columns > 0, size.rows > 0 else { return [] }
    let rows = model.rows
    var lines = [Line(text: summary(rows), style: .strong), Line(text: titles(size.columns), style: .strong)]
    let page = page(size)
    let index = rows.firstIndex { $0.report.transfer == model.selected } ?? 0
    let first = max(0, min(index - page / 2, rows.count - page))
    for row in rows.dropFirst(first).prefix(page) {
      let isSelected = row.report.transfer == model.selected
      lines.append(Line(text: text(row, size.columns), style: isSelected ? .selected : .plain))
    }
    while lines.count < size.rows - 2 { lines.append(Line(text: "")) }
    lines.append(Line(text: reason(model, now: now)))
    lines.append(Line(text: bottom(model), style: .strong))
    // The keys stay where there is no room for all: they say how to leave.
    if lines.count > size.rows { lines = Array(lines.suffix(size.rows)) }
    return lines.map { line in
      let text = line.text.cut(toColumns: size.columns)
      // A bar over the whole screen.
      return Line(text: line.style == .selected ? text.padded(toColumns: size.columns) : text, style: line.style)
    }
  }

  // MARK: Parts

  private static func summary(_ rows: [TopModel.Row]) -> String {
    let open = rows.filter { $0.ended == nil }
    let running = open.count { $0.report.state == .running }
    let paused = open.count { $0.report.isPaused }
    let rate = ByteFormat.rate(open.reduce(0) { $0 + $1.rate })
    let waiting = "\(open.count - running - paused) waiting"
    return "\(running) running, \(waiting), \(paused > 0 ? "\(paused) paused, " : "")\(rate)"
  }

  private static func reason(_ model: TopModel, now: Date) -> String {
    if let absence = model.absence {
      // It says more: how the service is started for it.
      let row = model.selectedRow.flatMap { $0.report.waiting?.code == TransferReport.withoutServiceCode ? $0 : nil }
      return row.map { WhyText.sentence($0.report, now: now) } ?? absence
    }
    return model.selectedRow.map { WhyText.sentence($0.report, now: now) } ?? "No transfers."
  }

  private static func bottom(_ model: TopModel) -> String {
    if let transfer = model.asksToCancel {
      return "Cancel transfer \(transfer), and throw away what has arrived? y: yes, other keys: no"
    }
    if let prompt = model.limitPrompt { return prompt.line }
    return model.message.map(TextTable.printable)
      ?? "q quit  p pause  r resume  t retry  l limit  c cancel  up/down select"
  }

  // MARK: Columns

  /// Columns that a narrow screen has no room for are left out, the least needed first.
  private static func titles(_ columns: Int) -> String {
    line(id: "ID", state: "STATE", bar: "", done: "DONE", size: "SIZE", rate: "RATE", app: "APP", name: "FILE", columns)
  }

  private static func text(_ row: TopModel.Row, _ columns: Int) -> String {
    let report = row.report
    return line(
      id: "\(report.transfer)", state: report.stateWord, bar: bar(report.fraction),
      done: report.fraction.map { "\(Int($0 * 100))%" } ?? ByteFormat.bytes(report.received),
      size: report.total.map(ByteFormat.bytes) ?? "-", rate: row.rate > 0 ? ByteFormat.rate(row.rate) : "-",
      app: report.app.map { ($0 as NSString).lastPathComponent } ?? "-", name: report.name, columns)
  }

  private static func line(
    id: String, state: String, bar: String, done: String, size: String, rate: String, app: String, name: String,
    _ columns: Int
  ) -> String {
    var parts = [right(id, 5), left(state, 9)]
    if columns >= 72 { parts.append(left(bar, barCells + 2)) }
    if columns >= 30 { parts.append(right(done, 7)) }
    if columns >= 90 { parts.append(right(size, 7)) }
    if columns >= 48 { parts.append(right(rate, 10)) }
    if columns >= 100 { parts.append(left(app, 12)) }
    return (parts + [TextTable.printable(name)]).joined(separator: " ")
  }

  private static let barCells = 12

  private static func bar(_ fraction: Double?) -> String {
    guard let fraction else { return "" }
    let full = min(barCells, max(0, Int(fraction * Double(barCells))))
    return "[" + String(repeating: "=", count: full) + String(repeating: " ", count: barCells - full) + "]"
  }

  private static func left(_ text: String, _ width: Int) -> String {
    TextTable.printable(text).cut(toColumns: width).padded(toColumns: width)
  }

  private static func right(_ text: String, _ width: Int) -> String {
    TextTable.printable(text).cut(toColumns: width).paddedAtStart(toColumns: width)
  }
}
