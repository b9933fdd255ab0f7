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

extension TransferReport {
  /// The same without `Encodable`, for lists of thousands.
  func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.nullableField("app", app)
      try $0.field("created", created.ISO8601Format())
      try $0.nullableField("destination", destination)
      try $0.nullableObject("error", failure) {
        try $0.field("code", $1.code)
        try $0.field("domain", $1.domain)
        try $0.field("message", $1.message)
      }
      try $0.field("failedAttempts", failedAttempts)
      try $0.nullableField("finished", finished?.ISO8601Format())
      try $0.nullableField("httpStatus", httpStatus)
      try $0.field("kind", isUpload ? "upload" : "download")
      $0.name("limits")
      try $0.array(limits.map { ShownLimit($0) }) { try $1.write(to: &$0) }
      try $0.field("name", name)
      try $0.nullableField("outcome", outcome?.rawValue)
      try $0.nullableField("path", path)
      try $0.nullableField("rate", rate?.rounded())
      try $0.field("received", received)
      try $0.field("session", session)
      try $0.field("state", state.rawValue)
      try $0.nullableField("total", total)
      try $0.field("transfer", transfer)
      try $0.field("url", url)
      try $0.nullableObject("waiting", waiting) {
        try $0.field("code", $1.code)
        try $0.nullableField("nextAttempt", $1.nextAttempt?.ISO8601Format())
        try $0.field("sentence", $1.sentence)
      }
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

  func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.nullableField("between", between)
      try $0.nullableField("bytesPerSecond", bytesPerSecond)
      try $0.field("scope", scope)
    }
  }
}

/// `{"transfers": […]}`
struct TransferReports: Encodable, Sendable {
  var transfers: [TransferReport]
}
