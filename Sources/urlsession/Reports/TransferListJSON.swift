/// The JSON of a list of transfers, encoded in parts beside each other while further ones arrive: the same text as that of
/// `TransferReports` as a whole.
struct TransferListJSON {
  private var parts: [Task<String, any Error>] = []

  mutating func add(_ reports: [TransferReport]) {
    guard !reports.isEmpty else { return }
    parts.append(Task { try JSONOutput.text(TransferReports(transfers: reports)) })
  }

  func cancel() { for part in parts { part.cancel() } }

  /// nil where the encoder writes lists in another way than it did when this was written.
  func text() async throws -> String? {
    guard !parts.isEmpty else { return try JSONOutput.text(TransferReports(transfers: [])) }
    let (beginning, end) = ("{\n  \"transfers\" : [\n", "\n  ]\n}")
    var text = ""
    for part in parts {
      let whole = try await part.value
      guard whole.hasPrefix(beginning), whole.hasSuffix(end) else { return nil }
      text += text.isEmpty ? beginning : ",\n"
      text += Substring(whole.utf8.dropFirst(beginning.utf8.count).dropLast(end.utf8.count))
    }
    return text + end
  }
}
