import HTTPSemantics
import Synchronization
import SystemFakes
import Testing

@testable import HTTPTransport

/// What a session keeps of Alt-Svc, with a clock and a network that the test owns.
@Suite struct AlternativeServicesTests {
  private final class Clock: Sendable {
    let seconds = Mutex<Int64>(1_000)
    func advance(by amount: Int64) { seconds.withLock { $0 += amount } }
  }

  private let key = ConnectionKey(scheme: .https, host: "a.example", port: 443)

  private func head(_ status: Int = 200, _ fields: [(String, String)]) -> HTTPResponseHead {
    var list = HTTPFields()
    for (name, value) in fields { list.append(name, value) }
    return HTTPResponseHead(status: status, fields: list)
  }

  @Test func isKeptForItsTimeOnly() {
    let clock = Clock()
    let services = AlternativeServices(networks: FakeNetworks()) { clock.seconds.withLock { $0 } }
    services.note(head(fields("h3=\":443\"; ma=100", age: "40")), from: key)
    #expect(services.services(for: key).map(\.protocolName) == ["h3"])
    clock.advance(by: 59)
    #expect(services.services(for: key).count == 1)
    clock.advance(by: 1)
    #expect(services.services(for: key).isEmpty)
  }

  private func fields(_ value: String, age: String? = nil) -> [(String, String)] {
    [("Alt-Svc", value)] + (age.map { [("Age", $0)] } ?? [])
  }

  private func head(_ fields: [(String, String)]) -> HTTPResponseHead { head(200, fields) }

  @Test func onlySecureServersAreBelievedAndOnlyOfThemselves() {
    let services = AlternativeServices(networks: FakeNetworks())
    let plain = ConnectionKey(scheme: .http, host: "a.example", port: 443)
    services.note(head(fields("h3=\":443\"")), from: plain)
    #expect(services.services(for: key).isEmpty && services.services(for: plain).isEmpty)
    services.note(head([("Alt-Svc", "h3=\":443\""), ("alt-svc", "h2=\"b.example:1\"")]), from: key)
    #expect(services.services(for: key).map(\.port) == [443, 1])
    #expect(services.services(for: ConnectionKey(scheme: .https, host: "a.example", port: 444)).isEmpty)
    // A response that says nothing leaves things as they are; one of somebody else (421) says nothing.
    services.note(head([]), from: key)
    #expect(services.services(for: key).count == 2)
    services.note(head(421, fields("h3=\":443\"")), from: key)
    #expect(services.services(for: key).isEmpty)
  }

  @Test func anotherNetworkKeepsWhatPersists() {
    let networks = FakeNetworks()
    var services: AlternativeServices? = AlternativeServices(networks: networks)
    #expect(!networks.isObserved)
    let other = ConnectionKey(scheme: .https, host: "b.example", port: 443)
    services?.note(head(fields("h3=\":443\"")), from: key)
    services?.note(head(fields("h3=\":443\"; persist=1")), from: other)
    #expect(networks.isObserved)
    networks.become(.cellular)
    #expect(services?.services(for: key).isEmpty == true)
    #expect(services?.services(for: other).count == 1)
    services?.removeAll()
    #expect(!networks.isObserved && services?.services(for: other).isEmpty == true)
    services?.note(head(fields("h3=\":443\"")), from: key)
    #expect(networks.isObserved)
    services?.note(head(fields("clear")), from: key)
    #expect(!networks.isObserved)
    services?.note(head(fields("h3=\":443\"")), from: key)
    services = nil
    #expect(!networks.isObserved)
  }

  /// As where the kernel may not be listened to.
  @Test func aChangeThatIsNotReportedIsNoticedAtTheNextUse() throws {
    let networks = FakeNetworks()
    let services = AlternativeServices(networks: networks)
    services.note(head(fields("h3=\":443\"")), from: key)
    networks.becomeUnreported(.cellular)
    #expect(services.services(for: key).isEmpty)
    let question = try #require(services.askForOffer(of: key))
    networks.becomeUnreported([])
    #expect(!services.note(HTTP3Offer(port: 8443, lifetime: 300), of: key, answering: question))
  }

  // MARK: HTTPS records

  @Test func theDNSTellsOfHTTP3() throws {
    let networks = FakeNetworks()
    let services = AlternativeServices(networks: networks)
    #expect(services.http3Endpoint(for: key) == nil && services.isEmpty)
    let question = try #require(services.askForOffer(of: key))
    #expect(services.askForOffer(of: key) == nil)
    services.note(HTTP3Offer(port: 8443, lifetime: 300), of: key, answering: question)
    #expect(services.http3Endpoint(for: key) == QUICEndpoint(host: "a.example", port: 8443))
    // Not announced by the server.
    #expect(services.services(for: key).isEmpty && !services.isEmpty)
    // The server's own word counts more.
    services.note(head(fields("h3=\"b.example:1\"")), from: key)
    #expect(services.http3Endpoint(for: key) == QUICEndpoint(host: "b.example", port: 1))
    #expect(networks.isObserved)
    networks.become(.cellular)
    #expect(services.http3Endpoint(for: key) == nil)
    #expect(!networks.isObserved)
  }

  @Test func aServerThatIsAnotherOneWithdrawsTheOffer() throws {
    let services = AlternativeServices(networks: FakeNetworks())
    let question = try #require(services.askForOffer(of: key))
    services.note(HTTP3Offer(port: 8443, lifetime: 300), of: key, answering: question)
    services.note(head(421, []), from: key)
    #expect(services.http3Endpoint(for: key) == nil)
    #expect(services.askForOffer(of: key) == nil)
  }

  /// The answer is one from before, and does not bring the offer back.
  @Test(arguments: [true, false]) func aLateAnswerIsNotNoted(_ hasFailed: Bool) throws {
    let networks = FakeNetworks()
    let services = AlternativeServices(networks: networks)
    let question = try #require(services.askForOffer(of: key))
    if hasFailed { services.withdrawOffer(of: key) } else { networks.become(.cellular) }
    #expect(!services.note(HTTP3Offer(port: 8443, lifetime: 300), of: key, answering: question))
    #expect(services.http3Endpoint(for: key) == nil)
  }

  @Test func theDNSIsNotAskedAboutServersThatAnnounce() {
    let services = AlternativeServices(networks: FakeNetworks())
    services.note(head(fields("h3=\":443\"")), from: key)
    #expect(services.askForOffer(of: key) == nil)
  }

  @Test(arguments: [
    ("a.example", true), ("localhost", false), ("a.localhost", false), ("printer", false), ("192.0.2.1", false),
    ("2001:db8::1", false), ("fe80::1%eth0", false), ("printer.local", false), ("db.internal", false),
    ("nas.home.arpa", false), ("arpa.example.", true), ("x.onion", false),
  ])
  func recordsExistForNames(_ host: String, _ mayExist: Bool) {
    #expect(ServiceRecords.mayExist(for: host) == mayExist)
  }
}
