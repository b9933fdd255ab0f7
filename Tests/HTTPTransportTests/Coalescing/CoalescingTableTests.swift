import SystemServices
import Testing

@testable import HTTPTransport

/// Which connections may serve which origins (RFC 9113 §9.1.1).
@Suite struct CoalescingTableTests {
  private static let covered = ["one.example", "two.example", "three.example"]

  private static func key(_ host: String, port: Int = 443) -> ConnectionKey {
    ConnectionKey(scheme: .https, host: host, port: port)
  }

  private static func connection(_ key: ConnectionKey, tlsVersion: UInt16 = 0x0304) -> CoalescingTable.Connection {
    CoalescingTable.Connection(
      key: key, address: NetworkAddress([192, 0, 2, 1]), tlsVersion: tlsVersion, certificates: [[1]],
      hosts: CertifiedHosts([1]) { _ in { covered.contains($0) } })
  }

  /// A table with a connection to one.example.
  private func table() throws -> (CoalescingTable, CoalescingTable.ID) {
    var table = CoalescingTable()
    let id = table.opened(Self.connection(Self.key("one.example")))
    return (table, try #require(id))
  }

  private func found(_ table: CoalescingTable, _ key: ConnectionKey, minimum: UInt16? = nil) -> [CoalescingTable.ID] {
    table.candidates(for: key, limits: HandshakeLimits(minimumVersion: minimum)).map(\.id)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isFound: Bool
    let key: ConnectionKey

    init(
      _ description: String, _ isFound: Bool, _ host: String = "two.example", _ change: (inout ConnectionKey) -> Void
    ) {
      var key = CoalescingTableTests.key(host)
      change(&key)
      testDescription = description
      self.isFound = isFound
      self.key = key
    }

    static let all: [Case] = [
      Case("another host of the certificate", true) { _ in },
      Case("the connection's own host", false, "one.example") { _ in },
      Case("a host that the certificate does not have", false, "four.example") { _ in },
      Case("an address", false, "192.0.2.1") { _ in },
      Case("another port", false) { $0.port = 8_443 },
      Case("http", false) { $0.scheme = .http },
      Case("HTTP/1.1 alone", false) { $0.allowsHTTP2 = false },
      Case("marked packets", false) { $0.trafficClass = TrafficClass(dscp: 46, priority: 6) },
      Case("a forbidden network", false) { $0.forbiddenNetworks = .expensive },
      Case("a name with proof", false) { $0.requiresDNSSEC = true },
      Case("a user's connection", false) { $0.identity = .authenticatedUser("user") },
      Case("a connection of its own after 421", false) { $0.isolation = 1 },
      Case("a socket of this machine", false) { $0.socketPath = "/run/socket" },
      Case("HTTP/3", false) { $0.quic = QUICEndpoint(host: "two.example", port: 443) },
    ]
  }

  @Test(arguments: Case.all) func requestsFindConnectionsThatMayServeThem(_ example: Case) throws {
    let (table, id) = try table()
    #expect(found(table, example.key) == (example.isFound ? [id] : []))
  }

  /// Requests that differ in more than the host don't share connections, whichever came first.
  @Test(arguments: Case.all.filter { !$0.isFound && $0.key.host == "two.example" && $0.key.port == 443 })
  func otherRequestsDoNotFindTheirConnections(_ example: Case) {
    var table = CoalescingTable()
    _ = table.opened(Self.connection(example.key))
    #expect(found(table, Self.key("three.example")).isEmpty)
  }

  @Test(arguments: [(nil, 1), (0x0303, 1), (0x0304, 0)] as [(UInt16?, Int)])
  func theVersionOfTLSIsTheHosts(_ minimum: UInt16?, _ count: Int) throws {
    var table = CoalescingTable()
    _ = table.opened(Self.connection(Self.key("one.example"), tlsVersion: 0x0303))
    #expect(found(table, Self.key("two.example"), minimum: minimum).count == count)
  }

  @Test func aClosedConnectionServesNothing() throws {
    var (table, id) = try table()
    table.closed(id)
    #expect(found(table, Self.key("two.example")).isEmpty && table.isEmpty)
  }

  @Test func verdictsAreKept() throws {
    var (table, id) = try table()
    let opened = table.opened(Self.connection(Self.key("three.example")))
    let second = try #require(opened)
    table.judged(Self.key("two.example"), on: second, isAdmitted: true)
    let candidates = table.candidates(for: Self.key("two.example"), limits: HandshakeLimits())
    #expect(candidates.map(\.id) == [second, id] && candidates.map(\.isAdmitted) == [true, false])
    table.judged(Self.key("two.example"), on: id, isAdmitted: false)
    #expect(found(table, Self.key("two.example")) == [second])
    #expect(found(table, Self.key("one.example")) == [second])
  }

  /// RFC 8336 §2.4: what a server lists limits the connection, from then on.
  @Test func theServersListIsObeyed() throws {
    var (table, id) = try table()
    table.judged(Self.key("two.example"), on: id, isAdmitted: true)
    table.listed(["https://three.example"], on: id)
    #expect(found(table, Self.key("two.example")).isEmpty)
    #expect(found(table, Self.key("three.example")) == [id])
    table.listed(["https://two.example"], on: id)
    #expect(found(table, Self.key("two.example")) == [id])
  }

  @Test func anOriginThatWasMisdirectedGetsItsOwnConnection() throws {
    var (table, id) = try table()
    table.judged(Self.key("two.example"), on: id, isAdmitted: true)
    table.refused(Self.key("two.example"))
    #expect(found(table, Self.key("two.example")).isEmpty)
    #expect(found(table, Self.key("three.example")) == [id])
  }
}
