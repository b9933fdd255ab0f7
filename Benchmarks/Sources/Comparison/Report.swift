import Foundation

/// One line of the result, as it is printed and as it is written to the JSON file.
struct ReportedComparison: Encodable {
  var name: String
  var ours: Double
  /// nil where nothing stands beside ours.
  var peer: Double?
  var peerName: String?
  var unit: String
  /// Above 1, ours is better: faster, or less where the unit is time or memory. nil without a peer.
  var ratio: Double?

  var isSpeed: Bool { unit.hasSuffix("/s") }
  var isTime: Bool { ["µs", "ms", "s", "processor s"].contains(unit) }

  init(_ comparison: Comparison, measured: [Run: [Measurement]]) throws {
    func median(_ run: Run, figure: String = "") throws -> Double {
      let values = try (measured[run] ?? []).map { measurement in
        switch comparison.quantity {
        case .speed: return measurement.value
        case .peakMemory: return measurement.peakRSS / 1_048_576
        case .memoryPerTask: return measurement.memoryPerGet
        case .time, .figure:
          guard let time = measurement.figures[figure] else {
            throw ComparisonError("\(comparison.name): nothing is called \(figure) in the answer")
          }
          return time
        }
      }
      return values.median
    }
    name = comparison.name
    switch comparison.quantity {
    case .time(let figure, let beside), .figure(let figure, _, .some(let beside)):
      ours = try median(comparison.ours, figure: figure)
      peer = try median(comparison.peer ?? comparison.ours, figure: beside)
      peerName = beside
    case .speed, .peakMemory, .memoryPerTask, .figure:
      let figure = if case .figure(let figure, _, _) = comparison.quantity { figure } else { "" }
      ours = try median(comparison.ours, figure: figure)
      peer = try comparison.peer.map { try median($0, figure: figure) }
      peerName = comparison.peer?.client.rawValue
    }
    unit = comparison.unit
    ratio = peer.map { peer in
      let (better, worse) = comparison.quantity == .speed ? (ours, peer) : (peer, ours)
      return worse > 0 ? better / worse : 0
    }
  }
}

extension [Double] {
  var median: Double {
    guard !isEmpty else { return 0 }
    let ordered = sorted()
    let middle = ordered.count / 2
    return ordered.count % 2 == 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2
  }
}

enum Report {
  /// The table, one line a comparison, as text that is also Markdown.
  static func table(_ lines: [ReportedComparison]) -> String {
    let header = ["what", "ours", "peer", "", "unit", "ratio"]
    let rows = lines.map { line in
      [
        line.name, text(line.ours), line.peer.map(text) ?? "", line.peerName ?? "", line.unit,
        line.ratio.map(ratio) ?? "",
      ]
    }
    let widths = header.indices.map { column in ([header] + rows).reduce(2) { max($0, $1[column].count) } }
    let rightAligned: Set = [1, 2, 5]
    func line(_ cells: [String]) -> String {
      let padded = cells.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - cells[column].count)
        return rightAligned.contains(column) ? padding + cells[column] : cells[column] + padding
      }
      return "| " + padded.joined(separator: " | ") + " |"
    }
    let rule = widths.indices.map { column in
      let dashes = String(repeating: "-", count: max(widths[column] - 1, 1))
      return rightAligned.contains(column) ? dashes + ":" : dashes + "-"
    }
    return ([line(header), line(rule)] + rows.map(line)).joined(separator: "\n")
  }

  /// Each goal that something was measured for, and whether it was reached.
  static func goals(_ lines: [ReportedComparison]) -> String {
    Goal.all.compactMap { goal in
      switch goal.measure {
      case .ratio(let client, let least):
        let line = lines.first { $0.name == goal.name && $0.peerName == client.rawValue }
        guard let reached = line?.ratio else { return nil }
        let verdict = reached >= least ? "reached" : "missed"
        return "goal \(verdict): \(goal.name) at least \(ratio(least)) × \(client.rawValue), is \(ratio(reached))"
      case .ours(let most):
        guard let line = lines.first(where: { $0.name == goal.name }) else { return nil }
        let verdict = line.ours <= most ? "reached" : "missed"
        return "goal \(verdict): \(goal.name) at most \(text(most)) \(line.unit), is \(text(line.ours))"
      }
    }.joined(separator: "\n")
  }

  static func json(_ lines: [ReportedComparison]) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(lines)
  }

  private static func text(_ value: Double) -> String {
    String(format: value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)
  }
  private static func ratio(_ value: Double) -> String { String(format: "%.2f", value) }
}
