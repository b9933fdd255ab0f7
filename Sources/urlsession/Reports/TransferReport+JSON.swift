import Foundation
import TransferProtocol

/// Every key is always there; what does not apply or is not known is null.
extension TransferReport: Encodable {
  private enum CodingKeys: String, CodingKey {
    case transfer, kind, session, url, state, outcome, destination, path, received, total, rate, httpStatus, waiting
    case failedAttempts, error, created, finished, app, limits, name
  }

  private enum WaitingKeys: String, CodingKey { case code, sentence, nextAttempt }
  private enum ErrorKeys: String, CodingKey { case domain, code, message }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(transfer, forKey: .transfer)
    try container.encode(isUpload ? "upload" : "download", forKey: .kind)
    try container.encode(session, forKey: .session)
    try container.encode(url, forKey: .url)
    try container.encode(name, forKey: .name)
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
    try container.encode(app, forKey: .app)
    try container.encode(limits.map { ShownLimit($0) }, forKey: .limits)
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

/// A limit of bandwidth, for programs.
struct ShownLimit: Encodable, Sendable {
  let scope: String
  let bytesPerSecond: Int64?
  let between: String?

  init(_ limit: TransferLimit) {
    scope = limit.scope
    bytesPerSecond = limit.limit.bytesPerSecond
    between = limit.limit.hours?.description
  }

  private enum CodingKeys: String, CodingKey { case scope, bytesPerSecond, between }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(scope, forKey: .scope)
    try container.encode(bytesPerSecond, forKey: .bytesPerSecond)
    try container.encode(between, forKey: .between)
  }
}

/// `{"transfers": […]}`
struct TransferReports: Encodable, Sendable {
  var transfers: [TransferReport]
}
