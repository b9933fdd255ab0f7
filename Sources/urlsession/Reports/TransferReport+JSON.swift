import Foundation

/// Every key is always there; what does not apply or is not known is null.
extension TransferReport: Encodable {
  private enum CodingKeys: String, CodingKey {
    case transfer, session, url, state, outcome, destination, path, received, total, rate, httpStatus, waiting
    case failedAttempts, error, created, finished
  }

  private enum WaitingKeys: String, CodingKey { case code, sentence, nextAttempt }
  private enum ErrorKeys: String, CodingKey { case domain, code, message }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(transfer, forKey: .transfer)
    try container.encode(session, forKey: .session)
    try container.encode(url, forKey: .url)
    try container.encode(state.rawValue, forKey: .state)
    try container.encode(outcome?.rawValue, forKey: .outcome)
    try container.encode(destination, forKey: .destination)
    try container.encode(path, forKey: .path)
    try container.encode(received, forKey: .received)
    try container.encode(total, forKey: .total)
    try container.encode(rate.map { $0.rounded() }, forKey: .rate)
    try container.encode(httpStatus, forKey: .httpStatus)
    try container.encode(failedAttempts, forKey: .failedAttempts)
    try container.encode(created, forKey: .created)
    try container.encode(finished, forKey: .finished)
    if let waiting {
      var nested = container.nestedContainer(keyedBy: WaitingKeys.self, forKey: .waiting)
      try nested.encode(waiting.code, forKey: .code)
      try nested.encode(waiting.sentence, forKey: .sentence)
      try nested.encode(waiting.nextAttempt, forKey: .nextAttempt)
    } else {
      try container.encodeNil(forKey: .waiting)
    }
    if let failure {
      var nested = container.nestedContainer(keyedBy: ErrorKeys.self, forKey: .error)
      try nested.encode(failure.domain, forKey: .domain)
      try nested.encode(failure.code, forKey: .code)
      try nested.encode(failure.message, forKey: .message)
    } else {
      try container.encodeNil(forKey: .error)
    }
  }
}

/// `{"transfers": […]}`
struct TransferReports: Encodable, Sendable {
  var transfers: [TransferReport]
}
