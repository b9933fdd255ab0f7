import HTTPSemantics
import Synchronization
import SystemServices

/// The alternative services that the https servers of a session have announced (RFC 7838), and those that the DNS tells of (RFC
/// 9460). Usable from any thread.
///
/// Of announcements only what a server says of itself over TLS is noted, so that an attacker on the way can't lead its clients
/// elsewhere; the DNS is believed for another way to the same host, where the server shows its certificate. While
/// something is known that another network would make worthless, the machine's network is watched.
package final class AlternativeServices: Sendable {
  private struct State: Sendable {
    var table = AlternativeServiceTable()
    var offers = HTTP3OfferTable()

    var isEmpty: Bool { table.isEmpty && offers.isEmpty }
  }

  private let state = Mutex(State())
  private let networkWatch: NetworkWatch
  private let now: @Sendable () -> Int64

  /// - Parameter now: Seconds on a clock that never goes back, and goes on while the machine sleeps.
  package init(
    networks: any NetworkDescribing,
    now: @escaping @Sendable () -> Int64 = { BootInstant.now().nanoseconds / 1_000_000_000 }
  ) {
    networkWatch = NetworkWatch(networks)
    self.now = now
  }

  /// Notes what the final response of the server at `key` says.
  package func note(_ head: HTTPResponseHead, from key: ConnectionKey) {
    guard key.scheme == .https else { return }
    let origin = AlternativeServices.origin(key)
    // RFC 7838 §6: a 421 comes from another server, whose announcements are ignored.
    guard head.status != 421 else {
      let now = now()
      return change {
        $0.table.forget(origin)
        $0.offers.withdraw(origin, at: now)
      }
    }
    let values = head.fields.values("Alt-Svc")
    guard !values.isEmpty else { return }
    let age = head.fields["Age"].flatMap { Int64(decimalDigits: $0.trimmingHTTPWhitespace().utf8) } ?? 0
    let now = now()
    change { $0.table.note(values.joined(separator: ","), from: origin, age: age, at: now) }
  }

  /// The alternatives of the server at `key`, best first.
  package func services(for key: ConnectionKey) -> [AlternativeService] {
    guard key.scheme == .https else { return [] }
    networkWatch.catchUp()
    let origin = AlternativeServices.origin(key)
    let now = now()
    return state.withLock { $0.table.services(for: origin, at: now) }
  }

  private static func origin(_ key: ConnectionKey) -> HTTPOrigin {
    HTTPOrigin(knownScheme: "https", host: key.host, port: key.port)
  }

  /// Whether nothing is known of any server.
  package var isEmpty: Bool { state.withLock { $0.isEmpty } }

  package func removeAll() {
    change {
      $0.table.removeAll()
      $0.offers.removeAll()
    }
  }

  // MARK: HTTP/3

  /// The place at which the server at `key` answers over HTTP/3, as far as it or the DNS has said; its own word first.
  func http3Endpoint(for key: ConnectionKey) -> QUICEndpoint? {
    if let announced = services(for: key).first(where: { $0.protocolName == "h3" }) {
      return QUICEndpoint(host: announced.host ?? key.host, port: announced.port)
    }
    guard key.scheme == .https else { return nil }
    let origin = AlternativeServices.origin(key)
    let now = now()
    return state.withLock { $0.offers.port(for: origin, at: now) }.map { QUICEndpoint(host: key.host, port: $0) }
  }

  /// A question for the DNS about the server at `key`; nil where it is not to be asked. It counts as asked then.
  func askForOffer(of key: ConnectionKey) -> HTTP3OfferTable.Question? {
    let origin = AlternativeServices.origin(key)
    let now = now()
    var question: HTTP3OfferTable.Question?
    change {
      guard $0.table.services(for: origin, at: now).isEmpty else { return }
      question = $0.offers.ask(for: origin, at: now)
    }
    return question
  }

  /// Notes what the DNS says of the server at `key`; nil for nothing. False where that is too late to count.
  @discardableResult
  func note(_ offer: HTTP3Offer?, of key: ConnectionKey, answering question: HTTP3OfferTable.Question) -> Bool {
    let origin = AlternativeServices.origin(key)
    let now = now()
    var isNoted = false
    change { isNoted = $0.offers.note(offer, for: origin, answering: question, at: now) }
    return isNoted
  }

  /// The server at `key` does not answer over HTTP/3, whatever the DNS says.
  func withdrawOffer(of key: ConnectionKey) {
    let origin = AlternativeServices.origin(key)
    let now = now()
    change { $0.offers.withdraw(origin, at: now) }
  }

  // MARK: The network

  private func change(_ change: (inout State) -> Void) {
    networkWatch.catchUp()
    apply(change)
  }

  private func apply(_ change: (inout State) -> Void) {
    state.withLock { change(&$0) }
    networkWatch.update(isNeeded: { !isEmpty }) { [weak self] in self?.networkChanged() }
  }

  private func networkChanged() {
    apply {
      $0.table.networkChanged()
      $0.offers.removeAll()
    }
  }
}
