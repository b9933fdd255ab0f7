/// The offers of HTTP/3 in the HTTPS records of origins, each until it expires. A value: the time is passed in, in seconds.
package struct HTTP3OfferTable: Sendable {
  private struct Entry: Sendable {
    /// nil for an origin that is being asked about, or has no offer.
    var port: Int?
    var expiry: Int64
  }

  private var origins: [HTTPOrigin: Entry] = [:]

  /// So that a session that visits the whole web does not grow with it.
  private static let limit = 1_000
  /// How long it is not asked again where there was no offer.
  private static let absence: Int64 = 60
  /// Nothing proves an offer, so that a wrong one must not stay for long.
  private static let longest: Int64 = 3_600

  package init() {}

  package var isEmpty: Bool { origins.isEmpty }

  /// Whether the records of an origin are to be asked for: nothing is known, and nothing under way. They count as asked for.
  package mutating func mayAsk(for origin: HTTPOrigin, at now: Int64) -> Bool {
    if let entry = origins[origin], entry.expiry > now { return false }
    note(nil, for: origin, at: now)
    return true
  }

  /// Notes what an origin's records say; nil for nothing.
  package mutating func note(_ offer: HTTP3Offer?, for origin: HTTPOrigin, at now: Int64) {
    if origins.count >= HTTP3OfferTable.limit, origins[origin] == nil { removeExpiredOrFirst(at: now) }
    let lifetime = offer.map { min($0.lifetime, HTTP3OfferTable.longest) } ?? HTTP3OfferTable.absence
    origins[origin] = Entry(port: offer?.port, expiry: now + lifetime)
  }

  /// The port for HTTP/3; nil where none is known.
  package func port(for origin: HTTPOrigin, at now: Int64) -> Int? {
    origins[origin].flatMap { $0.expiry > now ? $0.port : nil }
  }

  /// The offer was of no use: it is asked for again after a while.
  package mutating func withdraw(_ origin: HTTPOrigin, at now: Int64) {
    if origins[origin]?.port != nil { note(nil, for: origin, at: now) }
  }

  package mutating func removeAll() { origins = [:] }

  private mutating func removeExpiredOrFirst(at now: Int64) {
    origins = origins.filter { $0.value.expiry > now }
    if origins.count >= HTTP3OfferTable.limit, let first = origins.keys.first { origins[first] = nil }
  }
}
