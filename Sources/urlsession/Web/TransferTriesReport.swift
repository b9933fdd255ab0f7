import Foundation
import TransferProtocol

/// The tries of a transfer for the page and for `show`. Every key is always there; an unknown value is null.
struct TransferTriesReport: Encodable, Sendable {
  private struct Try: Encodable {
    let report: TransferTry

    private enum CodingKeys: String, CodingKey {
      case began, duration, responseAfter, offset, received, sent, status, end, failed, phases
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(report.began.timeIntervalSince1970 * 1000, forKey: .began)
      try container.encode(report.duration, forKey: .duration)
      try container.encode(report.responseAfter, forKey: .responseAfter)
      try container.encode(report.offset, forKey: .offset)
      try container.encode(report.received, forKey: .received)
      try container.encode(report.sent, forKey: .sent)
      try container.encode(report.httpStatus, forKey: .status)
      try container.encode(report.end, forKey: .end)
      try container.encode(report.failed, forKey: .failed)
      try container.encode(report.phases, forKey: .phases)
    }
  }

  private let tries: [Try]

  init(_ tries: [TransferTry]) { self.tries = tries.map { Try(report: $0) } }
}
