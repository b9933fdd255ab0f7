import TransferProtocol

/// The JSON of a list of transfers, written in parts beside each other while further ones arrive: the same text as
/// `JSONOutput` makes of `TransferReports` as a whole.
struct TransferListJSON {
  private var parts: [Task<ArraySlice<UInt8>, any Error>] = []

  mutating func add(_ reports: [TransferReport]) {
    guard !reports.isEmpty else { return }
    parts.append(
      Task {
        var writer = JSONWriter(linesAtDepth: 1, capacity: 1_024 * reports.count)
        try writer.array(reports) { try $1.write(to: &$0) }
        return writer.bytes.dropFirst("[\n".utf8.count).dropLast("\n  ]".utf8.count)
      })
  }

  func cancel() { for part in parts { part.cancel() } }

  /// The pieces of the text, one after the other: it has megabytes, and need not be in one place.
  func pieces() async throws -> [ArraySlice<UInt8>] {
    guard !parts.isEmpty else { return [Array(try JSONOutput.text(TransferReports(transfers: [])).utf8)[...]] }
    var pieces = [Array("{\n  \"transfers\" : [\n".utf8)[...]]
    let separator = Array(",\n".utf8)[...]
    for (index, part) in parts.enumerated() {
      if index > 0 { pieces.append(separator) }
      pieces.append(try await part.value)
    }
    return pieces + [Array("\n  ]\n}".utf8)[...]]
  }
}
