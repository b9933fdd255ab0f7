import Foundation
import TransferProtocol

/// Every key is always there; what does not apply or is not known is null.
extension TransferReport: Encodable {
  private enum CodingKeys: String, CodingKey {
    case transfer, kind, session, url, state, outcome, destination, path, received, total, rate, httpStatus, waiting
    case failedAttempts, error, created, finished, app, limits, name, absence
  }

  private enum WaitingKeys: String, CodingKey { case code, sentence, nextAttempt }
  private enum AbsenceKeys: String, CodingKey { case days, removal }
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
    try container.encode(isReceivedKnown ? received : nil, forKey: .received)
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
    if let absence {
      var nested = container.nestedContainer(keyedBy: AbsenceKeys.self, forKey: .absence)
      try nested.encode(absence.days, forKey: .days)
      try nested.encode(absence.removal, forKey: .removal)
    } else {
      try container.encodeNil(forKey: .absence)
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
      if let absence {
        $0.name("absence")
        $0.object {
          $0.integer("days", Int64(absence.days))
          $0.string("removal", absence.removal.ISO8601Format())
        }
      } else {
        $0.null("absence")
      }
      $0.nullableString("app", app)
      $0.string("created", created.ISO8601Format())
      $0.nullableString("destination", destination)
      if let failure {
        $0.name("error")
        $0.object {
          $0.integer("code", Int64(failure.code))
          $0.string("domain", failure.domain)
          $0.string("message", failure.message)
        }
      } else {
        $0.null("error")
      }
      $0.integer("failedAttempts", Int64(failedAttempts))
      $0.nullableString("finished", finished?.ISO8601Format())
      $0.nullableInteger("httpStatus", httpStatus.map { Int64($0) })
      $0.string("kind", isUpload ? "upload" : "download")
      $0.name("limits")
      $0.array(limits) { ShownLimit($1).write(to: &$0) }
      $0.string("name", name)
      $0.nullableString("outcome", outcome?.rawValue)
      $0.nullableString("path", path)
      if let rate { try $0.field("rate", rate.rounded()) } else { $0.null("rate") }
      $0.nullableInteger("received", isReceivedKnown ? received : nil)
      $0.string("session", session)
      $0.string("state", state.rawValue)
      $0.nullableInteger("total", total)
      $0.integer("transfer", transfer)
      $0.string("url", url)
      if let waiting {
        $0.name("waiting")
        $0.object {
          $0.string("code", waiting.code)
          $0.nullableString("nextAttempt", waiting.nextAttempt?.ISO8601Format())
          $0.string("sentence", waiting.sentence)
        }
      } else {
        $0.null("waiting")
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

  func write(to writer: inout JSONWriter) {
    writer.object {
      $0.nullableString("between", between)
      $0.nullableInteger("bytesPerSecond", bytesPerSecond)
      $0.string("scope", scope)
    }
  }
}

/// `{"transfers": […]}`
struct TransferReports: Encodable, Sendable {
  var transfers: [TransferReport]
}
