import TransferProtocol

/// Counts for Prometheus: of the transfers as they are, and of what happened since the counting began.
///
/// Labels name no URL and no file: these may be secret, and the system that collects the counts keeps them.
struct TransferMetrics: Sendable, Equatable {
  /// Bytes that arrived since the counting began.
  private var receivedBytes: Int64 = 0
  /// Bytes of uploads that were sent since then.
  private var sentBytes: Int64 = 0
  /// Transfers that ended since the counting began, by outcome.
  private var ended: [String: Int] = [:]

  /// Of so many transfers the bytes are told one by one, those that run before others: each is a series of its own in the
  /// system that collects the counts.
  static let maximumTransfers = 100
  private static let outcomes: [DownloadRecord.Outcome] = [.saved, .savedElsewhere, .httpError, .failed, .cancelled]

  /// - Parameter before: How the transfer was; nil for one that was not known: its bytes arrived before.
  mutating func count(_ report: TransferReport, before: TransferReport?) {
    guard let before else { return }
    let (growth, isWrong) = report.received.subtractingReportingOverflow(before.received)
    let moved = report.isUpload ? \Self.sentBytes : \Self.receivedBytes
    let (sum, overflows) = self[keyPath: moved].addingReportingOverflow(isWrong ? 0 : max(0, growth))
    self[keyPath: moved] = overflows ? .max : sum
    if before.outcome == nil, let outcome = report.outcome { ended[outcome.rawValue, default: 0] += 1 }
  }

  /// In the text format of Prometheus, version 0.0.4.
  func text(of reports: some Collection<TransferReport>, serviceRuns: Bool) -> String {
    let open = reports.filter { $0.outcome == nil }.sorted { $0.transfer < $1.transfer }
    let told = (open.filter { $0.state == .running } + open.filter { $0.state != .running })
      .prefix(TransferMetrics.maximumTransfers).sorted { $0.transfer < $1.transfer }
    let waiting = open.compactMap { $0.state == .waiting ? $0.waiting?.code : nil }
    let families = [
      Family(
        "urlsession_service_up", .gauge, "Whether the transfer service runs.", [([], serviceRuns ? "1" : "0")]),
      Family(
        "urlsession_transfers", .gauge, "Transfers that are not over, by state.",
        TransferMetrics.counts(open.map(\.state.rawValue), label: "state", always: ["running", "suspended", "waiting"])),
      Family(
        "urlsession_transfers_waiting", .gauge, "Transfers that wait, by reason.",
        TransferMetrics.counts(waiting, label: "reason")),
      Family(
        "urlsession_transfer_received_bytes", .gauge, "Bytes of a download that have arrived.",
        told.filter { !$0.isUpload }.map { ([("transfer", "\($0.transfer)")], "\($0.received)") }),
      Family(
        "urlsession_transfer_sent_bytes", .gauge, "Bytes of an upload that are sent.",
        told.filter(\.isUpload).map { ([("transfer", "\($0.transfer)")], "\($0.received)") }),
      Family(
        "urlsession_transfer_size_bytes", .gauge, "Size of a transfer, where it is known.",
        told.compactMap { report in report.total.map { ([("transfer", "\(report.transfer)")], "\($0)") } }),
      Family(
        "urlsession_received_bytes_total", .counter, "Bytes of downloads that arrived since the page's server started.",
        [([], "\(receivedBytes)")]),
      Family(
        "urlsession_sent_bytes_total", .counter, "Bytes of uploads that were sent since the page's server started.",
        [([], "\(sentBytes)")]),
      Family(
        "urlsession_transfers_ended_total", .counter,
        "Transfers that ended since the page's server started, by outcome.",
        // A rate needs the zero before the first.
        TransferMetrics.outcomes.map { ([("outcome", $0.rawValue)], "\(ended[$0.rawValue, default: 0])") }),
    ]
    return families.map(\.text).joined()
  }

  private static func counts(
    _ values: [String], label: String, always: [String] = []
  ) -> [([(String, String)], String)] {
    let counts = values.reduce(into: Dictionary(always.map { ($0, 0) }) { $1 }) { $0[$1, default: 0] += 1 }
    return counts.sorted { $0.key < $1.key }.map { ([(label, $0.key)], "\($0.value)") }
  }

  /// All samples of one name.
  struct Family {
    enum Kind: String { case counter, gauge }

    let name: String
    let kind: Kind
    let help: String
    let samples: [(labels: [(String, String)], value: String)]

    init(_ name: String, _ kind: Kind, _ help: String, _ samples: [([(String, String)], String)]) {
      self.name = name
      self.kind = kind
      self.help = help
      self.samples = samples.map { (labels: $0.0, value: $0.1) }
    }

    var text: String {
      let lines = samples.map { sample in
        let labels = sample.labels.map { "\($0)=\"\(Family.escaped($1))\"" }.joined(separator: ",")
        return "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
      }
      return "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n" + lines.joined()
    }

    private static func escaped(_ value: String) -> String {
      value.reduce(into: "") { text, character in
        switch character {
        case "\\": text += "\\\\"
        case "\"": text += "\\\""
        case "\n": text += "\\n"
        default: text.append(character)
        }
      }
    }
  }
}
