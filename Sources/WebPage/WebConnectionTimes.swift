/// How long a connection to the web page may take for each of its steps. Takes what happens on the connection, and tells
/// when it is to be closed unless something else happens before.
///
/// The event stream goes on for as long as the page is open; its reader only has to take what is written.
package struct WebConnectionTimes: Sendable {
  package typealias Instant = ContinuousClock.Instant

  /// For the first request, from the first byte of its head to the last byte of its body.
  package static let firstRequest = Duration.seconds(10)
  /// Without a request, and for the head of the next one.
  package static let idle = Duration.seconds(60)
  /// For the body of a request.
  package static let body = Duration.seconds(10)
  /// For the response, and for the client to take it.
  package static let response = Duration.seconds(60)

  private enum Phase: Sendable {
    case awaitingRequest
    case readingBody
    case responding
    case streaming
  }

  private var phase = Phase.awaitingRequest
  private var phaseEnd: Instant
  /// Requests whose response is not complete; more than one when the client does not wait for the first.
  private var requests = 0
  private var unfinishedWrites = 0
  private var writesEnd: Instant?

  package init(openedAt now: Instant) { phaseEnd = now + Self.firstRequest }

  /// When the connection is to be closed; nil while it may stay.
  package var deadline: Instant? { phase == .streaming ? writesEnd : phaseEnd }

  package mutating func headArrived(at now: Instant) {
    requests += 1
    enter(.readingBody, until: now + Self.body)
  }

  package mutating func requestArrived(at now: Instant) { enter(.responding, until: now + Self.response) }

  package mutating func responseBegan(isStream: Bool) {
    if isStream, phase == .responding { phase = .streaming }
  }

  package mutating func responseEnded(at now: Instant) {
    requests = max(0, requests - 1)
    // A body that is still on its way keeps its own time.
    guard phase != .readingBody else { return }
    if requests == 0 {
      enter(.awaitingRequest, until: now + Self.idle)
    } else {
      enter(.responding, until: now + Self.response)
    }
  }

  package mutating func writeBegan(at now: Instant) {
    unfinishedWrites += 1
    if unfinishedWrites == 1 { writesEnd = now + Self.response }
  }

  package mutating func writeEnded(at now: Instant) {
    unfinishedWrites = max(0, unfinishedWrites - 1)
    writesEnd = unfinishedWrites == 0 ? nil : now + Self.response
  }

  private mutating func enter(_ phase: Phase, until end: Instant) { (self.phase, phaseEnd) = (phase, end) }
}
