/// How an interrupted download asks for the rest, and what it makes of the answer (RFC 9110 §14, §13.1.5).
package enum ResumePlan {
  /// The fields to add to the request, replacing those of the same names.
  ///
  /// Always `Accept-Encoding: identity`: an offset counts bytes of the representation, not of a coding of it.
  /// Without an offset or a usable validator there is no Range: the transfer begins at zero.
  package static func requestFields(offset: Int64, validator: ResumeValidator?) -> HTTPFields {
    var fields = HTTPFields(["Accept-Encoding": "identity"])
    if offset > 0, let condition = validator?.condition {
      fields.append("Range", "bytes=\(offset)-")
      // RFC 9110 §13.1.5: a changed resource comes whole, with 200, in the same exchange.
      fields.append("If-Range", condition)
    }
    return fields
  }

  /// The meaning of the answer to a request with those fields.
  package enum Outcome: Sendable, Equatable {
    /// The body continues at the offset that was asked for, up to and without `upTo`, which need not be the end of the
    /// whole (RFC 9110 §15.3.7). `total` is nil while the server does not know it.
    case resume(at: Int64, upTo: Int64, total: Int64?)
    /// The body is the whole representation: drop what is stored and begin at zero with these bytes.
    case restart
    /// Nothing is left to fetch.
    case alreadyComplete
    /// The answer does not continue the stored bytes: drop them, and ask again from zero.
    case mismatch(Mismatch)
    /// An answer that has nothing to do with ranges (a failure, a redirect, a challenge): treat it as any other.
    case unrelated
  }

  /// Why an answer can't continue the stored bytes.
  package enum Mismatch: Sendable, Equatable, CaseIterable {
    case unreadableRange
    case severalParts
    case differentStart
    case differentTotal
    case differentLength
    case differentEntity
    case differentDate
    case coded
    case rangeNotSatisfiable
    case preconditionFailed

    package var sentence: String {
      switch self {
      case .unreadableRange: "The partial response has no readable Content-Range."
      case .severalParts: "The partial response came as several parts, though one was asked for."
      case .differentStart: "The partial response starts at another offset than was asked for."
      case .differentTotal: "The resource has another length than it had before."
      case .differentLength: "The partial response's Content-Length and Content-Range disagree."
      case .differentEntity: "The resource has another entity tag than it had before."
      case .differentDate: "The resource was modified since the download began."
      case .coded: "The partial response is compressed, though no compression was asked for."
      case .rangeNotSatisfiable: "The resource ends before the offset at which the download was to continue."
      case .preconditionFailed: "The server refused to continue because the resource has changed."
      }
    }
  }

  /// - Parameters:
  ///   - offset: how many bytes are stored, and were asked to be left out.
  ///   - validator: of the response that the stored bytes came from.
  ///   - total: the length of the whole as known before; nil if it was not.
  package static func outcome(
    status: Int, fields: HTTPFields, offset: Int64, validator: ResumeValidator?, total: Int64?
  ) -> Outcome {
    switch status {
    // RFC 9110 §14.2: a server may ignore Range, and If-Range makes it do so when the resource has changed.
    case 200, 203: return .restart
    case 206: return partial(fields: fields, offset: offset, validator: validator, total: total)
    case 412: return .mismatch(.preconditionFailed)
    case 416: return unsatisfied(fields: fields, offset: offset, validator: validator, total: total)
    default: return .unrelated
    }
  }

  private static func partial(
    fields: HTTPFields, offset: Int64, validator: ResumeValidator?, total: Int64?
  ) -> Outcome {
    if let type = fields["Content-Type"].flatMap({ MediaType(parsing: $0) }), type.essence == "multipart/byteranges" {
      return .mismatch(.severalParts)
    }
    let ranges = fields.values("Content-Range").map { ContentRange(parsing: $0) }
    guard let range = ranges.first.flatMap({ $0 }), ranges.allSatisfy({ $0 == range }),
      case .part(let first, let last, let newTotal) = range
    else { return .mismatch(.unreadableRange) }
    guard first == offset else { return .mismatch(.differentStart) }
    if let total, let newTotal, total != newTotal { return .mismatch(.differentTotal) }
    if let length = fields.values("Content-Length").first.flatMap({ Int64(decimalDigits: $0.utf8) }),
      length != range.length
    {
      return .mismatch(.differentLength)
    }
    guard ContentCodings(fields: fields).isIdentity else { return .mismatch(.coded) }
    if let change = change(from: validator, to: fields) { return .mismatch(change) }
    let whole = newTotal ?? total
    if let whole, last >= whole { return .mismatch(.differentTotal) }
    return .resume(at: first, upTo: last + 1, total: whole)
  }

  /// RFC 9110 §15.5.17: with `bytes */length`, the server tells what there is.
  private static func unsatisfied(
    fields: HTTPFields, offset: Int64, validator: ResumeValidator?, total: Int64?
  ) -> Outcome {
    if let change = change(from: validator, to: fields) { return .mismatch(change) }
    if let value = fields.values("Content-Range").first, let range = ContentRange(parsing: value) {
      guard case .unsatisfied(let length) = range else { return .mismatch(.unreadableRange) }
      if let total, total != length { return .mismatch(.differentTotal) }
      return length == offset ? .alreadyComplete : .mismatch(.rangeNotSatisfiable)
    }
    return total == offset ? .alreadyComplete : .mismatch(.rangeNotSatisfiable)
  }

  /// RFC 9110 §15.3.7.3: parts are combined only under one validator. A response need not repeat it; one that does must
  /// repeat the same, weak tags included. A date is asked only where no tag could be.
  private static func change(from validator: ResumeValidator?, to fields: HTTPFields) -> Mismatch? {
    guard let validator else { return nil }
    if let old = validator.entityTag, let new = fields.values("ETag").first {
      return old == new ? nil : .differentEntity
    }
    if let old = validator.lastModified, let new = fields.values("Last-Modified").first {
      return old == new ? nil : .differentDate
    }
    return nil
  }
}
