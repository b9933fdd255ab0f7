/// The offers of HTTP/3 in the HTTPS records of origins, each until it expires. A value: the time is passed in, in seconds.
package struct HTTP3OfferTable: Sendable {
  private struct Entry: Sendable {
    /// nil for an origin that is being asked about, or has no offer.
    var port: Int?
    var expiry: Int64
    /// The question that is under way.
    var question: Question?
  }

  /// The number of a question to the DNS.
  package typealias Question = Int

  private var origins: [HTTPOrigin: Entry] = [:]
  private var lastQuestion: Question = 0

  /// So that a session that visits the whole web does not grow with it.
  private static let limit = 1_000
  /// How long it is not asked again where there was no offer.
  private static let absence: Int64 = 60
  /// Nothing proves an offer, so that a wrong one must not stay for long.
  private static let longest: Int64 = 3_600

  package init() {}

  package var isEmpty: Bool { origins.isEmpty }

  /// A question for the records of an origin; nil where something is known, or a question under way. They count as asked for.
  package mutating func ask(for origin: HTTPOrigin, at now: Int64) -> Question? {
    if let entry = origins[origin], entry.expiry > now { return nil }
    lastQuestion += 1
    note(nil, for: origin, at: now, question: lastQuestion)
    return lastQuestion
  }

  /// Notes the answer to a question; nil for no offer. An answer that comes when the offer was withdrawn, or all were removed,
  /// changes nothing: it is from before.
  ///
  /// - Returns: Whether it was noted.
  @discardableResult
  package mutating func note(
    _ offer: HTTP3Offer?, for origin: HTTPOrigin, answering question: Question, at now: Int64
  ) -> Bool {
    guard origins[origin]?.question == question else { return false }
    note(offer, for: origin, at: now, question: nil)
    return true
  }

  private mutating func note(_ offer: HTTP3Offer?, for origin: HTTPOrigin, at now: Int64, question: Question?) {
    if origins.count >= HTTP3OfferTable.limit, origins[origin] == nil { removeExpiredOrFirst(at: now) }
    let lifetime = offer.map { min($0.lifetime, HTTP3OfferTable.longest) } ?? HTTP3OfferTable.absence
    origins[origin] = Entry(port: offer?.port, expiry: now + lifetime, question: question)
  }

  /// The port for HTTP/3; nil where none is known.
  package func port(for origin: HTTPOrigin, at now: Int64) -> Int? {
    origins[origin].flatMap { $0.expiry > now ? $0.port : nil }
  }

  /// The offer was of no use: it is asked for again after a while. One that is on its way is not noted.
  package mutating func withdraw(_ origin: HTTPOrigin, at now: Int64) {
    guard let entry = origins[origin], entry.port != nil || entry.question != nil else { return }
    note(nil, for: origin, at: now, question: nil)
  }

  package mutating func removeAll() { origins = [:] }

  private mutating func removeExpiredOrFirst(at now: Int64) {
    origins = origins.filter { $0.value.expiry > now }
    if origins.count >= HTTP3OfferTable.limit, let first = origins.keys.first { origins[first] = nil }
  }
}
