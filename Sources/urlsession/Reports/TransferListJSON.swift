import TransferProtocol

/// The JSON of a list of transfers, written in parts beside each other while further ones arrive: the same text as
/// `JSONOutput` makes of `TransferReports` as a whole.
struct TransferListJSON {
  private var parts: [Task<String, any Error>] = []

  mutating func add(_ reports: [TransferReport]) {
    guard !reports.isEmpty else { return }
    parts.append(
      Task {
        var writer = JSONWriter()
        try writer.array(reports) { try $1.write(to: &$0) }
        let lines = JSONLayout.lines(of: writer.bytes, depth: 1)
        return String(decoding: lines.dropFirst("[\n".utf8.count).dropLast("\n  ]".utf8.count), as: UTF8.self)
      })
  }

  func cancel() { for part in parts { part.cancel() } }

  func text() async throws -> String {
    guard !parts.isEmpty else { return try JSONOutput.text(TransferReports(transfers: [])) }
    var text = "{\n  \"transfers\" : [\n"
    for (index, part) in parts.enumerated() {
      if index > 0 { text += ",\n" }
      text += try await part.value
    }
    return text + "\n  ]\n}"
  }
}
