/// One line of progress: a bar for terminals, words for logs.
package enum ProgressLine {
  /// `[=======>      ]  45%   90 MB of 200 MB  12.3 MB/s  0:09 left`, cut to `width` columns.
  package static func bar(_ meter: ProgressMeter, label: String = "", width: Int) -> String {
    let figures = self.figures(meter)
    let lead = label.isEmpty ? "" : label + " "
    let room = width - lead.terminalColumns - figures.count - 4
    guard room >= 8 else { return (lead + figures).cut(toColumns: width) }
    let cells = min(room, 40)
    return "\(lead)[\(cellText(meter.fraction, cells: cells))] \(figures)"
  }

  /// The same in words, for output that is not a terminal.
  package static func plain(_ meter: ProgressMeter, label: String = "") -> String {
    (label.isEmpty ? "" : label + " ") + figures(meter)
  }

  /// A sentence in place of the figures, cut to `width` columns.
  package static func note(_ note: String, label: String = "", width: Int) -> String {
    ((label.isEmpty ? "" : label + " ") + note).cut(toColumns: width)
  }

  private static func figures(_ meter: ProgressMeter) -> String {
    let rate = ByteFormat.rate(meter.bytesPerSecond)
    guard let total = meter.total, let fraction = meter.fraction else {
      return "\(ByteFormat.bytes(meter.done))  \(rate)"
    }
    let percent = "\(Int(fraction * 100))%"
    let padding = String(repeating: " ", count: max(0, 4 - percent.count))
    return "\(padding)\(percent)  \(ByteFormat.bytes(meter.done)) of \(ByteFormat.bytes(total))  \(rate)  "
      + "\(ByteFormat.duration(meter.secondsLeft)) left"
  }

  private static func cellText(_ fraction: Double?, cells: Int) -> String {
    guard let fraction else { return String(repeating: ".", count: cells) }
    let full = min(cells, Int(fraction * Double(cells)))
    if full == cells { return String(repeating: "=", count: cells) }
    return String(repeating: "=", count: full) + ">" + String(repeating: " ", count: cells - full - 1)
  }
}
