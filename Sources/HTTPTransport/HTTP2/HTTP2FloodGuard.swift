import NIOCore

/// Counts what a server sends that carries nothing: each frame is cheap to send and costs us work or an answer. Above a
/// rate that no honest server comes near, the connection ends (RFC 9113 §10.5).
package struct HTTP2FloodGuard {
  package enum Kind: Sendable, CaseIterable {
    case settings, ping, acknowledgement, goAway, reset, emptyData, ignored, windowUpdate
    /// HEADERS or DATA on a stream that is closed, beyond what may have been on its way.
    case late
  }

  /// So many at once, and so many a second in the long run.
  private struct Bucket {
    let burst: Double
    let perSecond: Double
    var level = 0.0
    var last: NIODeadline?

    mutating func add(at now: NIODeadline) -> Bool {
      if let last { level = max(0, level - Double((now - last).nanoseconds) / 1e9 * perSecond) }
      last = now
      level += 1
      return level <= burst
    }
  }

  private var control = Bucket(burst: 500, perSecond: 50)
  /// A server may answer every frame of an upload with two.
  private var windows = Bucket(burst: 20_000, perSecond: 20_000)

  package init() {}

  /// One more frame of `kind`. Throws when it is one too many.
  package mutating func count(_ kind: Kind, at now: NIODeadline) throws(HTTP2ConnectionError) {
    let isAllowed = kind == .windowUpdate ? windows.add(at: now) : control.add(at: now)
    guard isAllowed else {
      throw HTTP2ConnectionError(.enhanceYourCalm, "The server floods the connection with frames that carry nothing.")
    }
  }
}
