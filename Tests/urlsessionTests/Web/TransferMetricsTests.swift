import Foundation
import Testing
import TransferProtocol

@testable import urlsession

/// The counts for Prometheus.
@Suite struct TransferMetricsTests {
  private static let running = TransferReport(Sample.status(17, .running, received: 1000, total: 4000))
  private static let waiting = TransferReport(
    Sample.status(18, .waiting) { $0.waiting = WaitingStatus(code: "a \"b\" \\ c\n", sentence: "It waits.") })
  private static let over = TransferReport(Sample.over(), record: Sample.record(.saved))

  /// A line for each sample, as its text format has them.
  private func samples(_ text: String) -> [String] {
    text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
  }

  @Test func transfersAreCountedByState() {
    let text = TransferMetrics().text(of: [Self.running, Self.waiting, Self.over], serviceRuns: true)
    #expect(
      samples(text) == [
        "urlsession_service_up 1",
        "urlsession_transfers{state=\"running\"} 1",
        "urlsession_transfers{state=\"suspended\"} 0",
        "urlsession_transfers{state=\"waiting\"} 1",
        "urlsession_transfers_waiting{reason=\"a \\\"b\\\" \\\\ c\\n\"} 1",
        "urlsession_transfer_received_bytes{transfer=\"17\"} 1000",
        "urlsession_transfer_received_bytes{transfer=\"18\"} 0",
        "urlsession_transfer_size_bytes{transfer=\"17\"} 4000",
        "urlsession_received_bytes_total 0",
        "urlsession_sent_bytes_total 0",
      ]
        + ["saved", "savedElsewhere", "httpError", "failed", "cancelled"].map {
          "urlsession_transfers_ended_total{outcome=\"\($0)\"} 0"
        })
    #expect(!text.contains("example.com"), "no URL")
  }

  @Test func seriesAreLimited() {
    let waiting = (1...500).map { TransferReport(Sample.status($0, .waiting, received: 1, total: 2)) }
    let running = (501...510).map { TransferReport(Sample.status($0, .running, received: 1, total: 2)) }
    let lines = samples(TransferMetrics().text(of: waiting + running, serviceRuns: true))
    let ofTransfers = lines.filter { $0.contains("transfer=") }
    #expect(ofTransfers.count == 2 * TransferMetrics.maximumTransfers)
    #expect(ofTransfers.contains("urlsession_transfer_received_bytes{transfer=\"510\"} 1"), "those that run come first")
    #expect(lines.contains("urlsession_transfers{state=\"waiting\"} 500"), "all are counted")
  }

  @Test func everyNameIsDescribedOnce() {
    let lines = TransferMetrics().text(of: [TransferReport](), serviceRuns: false).split(separator: "\n")
    let described = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
    #expect(described.count == 9 && Set(described).count == 9)
    #expect(lines.filter { $0.hasPrefix("# HELP ") }.map { $0.split(separator: " ")[2] } == described)
  }

  @Test func bytesOfUploadsAreCountedAsSent() {
    let upload = TransferReport(
      Sample.status(19, .running, received: 5) {
        $0.kind = .upload
        ($0.countOfBytesSent, $0.countOfBytesExpectedToSend) = (100, 900)
      })
    var later = upload
    later.received = 400
    var metrics = TransferMetrics()
    metrics.count(later, before: upload)
    let samples = samples(metrics.text(of: [later, Self.running], serviceRuns: true))
    #expect(
      samples.filter { $0.contains("_bytes") } == [
        "urlsession_transfer_received_bytes{transfer=\"17\"} 1000",
        "urlsession_transfer_sent_bytes{transfer=\"19\"} 400",
        "urlsession_transfer_size_bytes{transfer=\"17\"} 4000",
        "urlsession_transfer_size_bytes{transfer=\"19\"} 900",
        "urlsession_received_bytes_total 0",
        "urlsession_sent_bytes_total 300",
      ])
  }

  @Test func bytesAndEndsAreCountedFromTheBeginningOn() {
    var metrics = TransferMetrics()
    // Its bytes arrived before.
    metrics.count(Self.running, before: nil)
    var later = Self.running
    later.received = 1500
    metrics.count(later, before: Self.running)
    // It begins again.
    metrics.count(Self.running, before: later)
    var over = later
    over.outcome = .saved
    metrics.count(over, before: later)
    metrics.count(over, before: over)
    let samples = samples(metrics.text(of: [TransferReport](), serviceRuns: true))
    #expect(samples.contains("urlsession_received_bytes_total 500"))
    #expect(samples.contains("urlsession_transfers_ended_total{outcome=\"saved\"} 1"))
  }
}
