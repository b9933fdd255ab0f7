import Foundation

/// Runs every client against the same server, in alternating rounds, and reports the medians side by side.
@main
enum Comparing {
  static func main() {
    do {
      try compare(Options(Array(CommandLine.arguments.dropFirst())))
    } catch {
      FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func compare(_ options: Options) throws {
    let runner = Runner(options: options)
    var lines: [ReportedComparison] = []
    let groups = Plan.groups.map { $0.only(options.only) }
      .map { options.link.isEmpty ? $0.withoutLink : $0 }
      .map { geteuid() == 0 ? $0 : $0.withoutBounds }
    for group in groups where !group.comparisons.isEmpty {
      let measured = try runner.measure(group)
      lines += try group.comparisons.map { try ReportedComparison($0, measured: measured) }
    }
    guard !lines.isEmpty else {
      throw ComparisonError("nothing is called \(options.only.joined(separator: " or "))")
    }
    let tables = [
      ("Speed", lines.filter { $0.isSpeed }), ("Time", lines.filter { $0.isTime }),
      ("Memory", lines.filter { !$0.isSpeed && !$0.isTime }),
    ]
    for (title, lines) in tables where !lines.isEmpty { print("\(title)\n\n\(Report.table(lines))\n") }
    print(Report.goals(lines))
    if let path = options.json {
      try Report.json(lines).write(to: URL(fileURLWithPath: path))
    }
  }
}

extension Group {
  /// The part of the group that needs no link.
  var withoutLink: Group {
    var group = self
    group.comparisons.removeAll { if case .overLink = $0.ours.load { true } else { false } }
    return group
  }

  /// The part of the group that needs no loops with bounds, which only root may set.
  var withoutBounds: Group {
    var group = self
    group.comparisons.removeAll { if case .bounded = $0.ours.load { true } else { false } }
    return group
  }

  /// The part of the group whose names contain one of `parts`; without parts, all that is no point of a plot. These are
  /// taken by parts that begin as their names do: `tasks-10000` is a row of its own.
  func only(_ parts: [String]) -> Group {
    var group = self
    if parts.isEmpty {
      // The points of the plots take long, and are of use together.
      group.comparisons.removeAll { $0.name.hasPrefix("plot-") }
    } else {
      group.comparisons.removeAll { comparison in
        let isPoint = comparison.name.hasPrefix("plot-")
        return !parts.contains { isPoint ? comparison.name.hasPrefix($0) : comparison.name.contains($0) }
      }
    }
    return group
  }
}
