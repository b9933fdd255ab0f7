/// Columns of text, each as wide as its widest cell, for people to read.
package struct TextTable: Sendable {
  package enum Alignment: Sendable { case left, right }

  package struct Column: Sendable {
    package let title: String
    package let alignment: Alignment

    package init(_ title: String, _ alignment: Alignment = .left) {
      self.title = title
      self.alignment = alignment
    }
  }

  private let columns: [Column]
  private var rows: [[String]] = []

  package init(_ columns: [Column]) { self.columns = columns }

  /// Cells that are missing are empty; those beyond the last column are left out.
  package mutating func append(_ cells: [String]) { rows.append(cells) }

  /// One line a row, the titles first, two spaces between columns, none at the end.
  package var lines: [String] {
    let titles = columns.map(\.title)
    let all = [titles] + rows
    let widths = columns.indices.map { column in
      all.map { TextTable.cell(column, of: $0).terminalColumns }.max() ?? 0
    }
    return all.map { row in
      var line = ""
      for (column, width) in zip(columns.indices, widths) {
        let text = TextTable.cell(column, of: row)
        let isLeft = columns[column].alignment == .left
        line += column == 0 ? "" : "  "
        line += isLeft ? text.padded(toColumns: width) : text.paddedAtStart(toColumns: width)
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  /// Text of others (a URL, a file name) must not move the cursor or start a line of its own.
  package static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
  }

  private static func cell(_ column: Int, of row: [String]) -> String {
    row.indices.contains(column) ? printable(row[column]) : ""
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
