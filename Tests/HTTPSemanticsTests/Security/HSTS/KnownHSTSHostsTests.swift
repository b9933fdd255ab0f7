import Foundation
import HTTPSemantics
import Testing

/// RFC 6797 §8.
@Suite struct KnownHSTSHostsTests {
  private static func said(_ value: String) -> HTTPFields { ["Strict-Transport-Security": value] }

  private static func hosts(_ host: String, _ value: String = "max-age=100", at now: Int64 = 0) -> KnownHSTSHosts {
    var hosts = KnownHSTSHosts()
    _ = hosts.note(said(value), from: host, at: now)
    return hosts
  }

  /// §8.2.
  @Test(
    arguments: [
      ("example.com", "max-age=100", "example.com", true), ("Example.COM", "max-age=100", "eXample.com", true),
      ("example.com.", "max-age=100", "example.com", true), ("example.com", "max-age=100", "example.com.", true),
      ("example.com", "max-age=100", "a.example.com", false), ("a.example.com", "max-age=100", "example.com", false),
      ("example.com", "max-age=100; includeSubDomains", "a.example.com", true),
      ("example.com", "max-age=100; includeSubDomains", "b.a.example.com", true),
      ("example.com", "max-age=100; includeSubDomains", "badexample.com", false),
      ("example.com", "max-age=100; includeSubDomains", "com", false),
      // A name of one label is a host as any other.
      ("intranet", "max-age=100", "intranet", true), ("com", "max-age=100; includeSubDomains", "example.com", true),
      ("localhost", "max-age=100", "localhost", true),
      ("xn--bcher-kva.example", "max-age=1", "XN--BCHER-KVA.example", true),
      // §8.1.1: never an address.
      ("127.0.0.1", "max-age=100", "127.0.0.1", false), ("::1", "max-age=100", "::1", false),
      ("[::1]", "max-age=100", "[::1]", false), ("127.1", "max-age=100", "127.1", false),
      ("1", "max-age=100; includeSubDomains", "127.0.0.1", false), ("", "max-age=100", "", false),
      (".", "max-age=100; includeSubDomains", "a", false), ("a..b", "max-age=100", "a..b", false),
      (".example.com", "max-age=100", "example.com", false), ("a\u{600}.", "max-age=100", "a", false),
      ("b\u{FC}cher.example", "max-age=1", "b\u{FC}cher.example", false),
      ("example.com", "max-age=0", "example.com", false), ("example.com", "nonsense", "example.com", false),
    ])
  func hostsAreMatched(noted: String, value: String, host: String, isKnown: Bool) {
    #expect(Self.hosts(noted, value).contains(host, at: 0) == isKnown)
  }

  @Test func policyExpires() {
    let hosts = Self.hosts("example.com", at: 1_000)
    #expect(hosts.contains("example.com", at: 1_099) && !hosts.contains("example.com", at: 1_100))
    let long = Self.hosts("example.com", "max-age=9223372036854775807", at: 1_000)
    #expect(long.contains("example.com", at: .max - 1))
  }

  @Test func laterResponseReplacesThePolicy() {
    var hosts = Self.hosts("example.com", "max-age=100; includeSubDomains")
    let changes = [Self.said("max-age=100"), Self.said("max-age=100"), [:], Self.said("max-age=1; max-age=1")].map {
      hosts.note($0, from: "example.com", at: 50)
    }
    #expect(changes == [true, false, false, false])
    #expect(!hosts.contains("a.example.com", at: 50) && hosts.contains("example.com", at: 149))
  }

  /// §6.1.1.
  @Test func ageOfZeroForgetsTheHostAlone() {
    var hosts = Self.hosts("example.com", "max-age=100; includeSubDomains")
    let changes = ["max-age=0", "max-age=100", "max-age=0"].map {
      hosts.note(Self.said($0), from: "a.example.com", at: 0)
    }
    #expect(changes == [false, true, true])
    // The domain above still speaks for it.
    #expect(hosts.contains("a.example.com", at: 0))
    let isForgotten = hosts.note(Self.said("max-age=0"), from: "EXAMPLE.com.", at: 0)
    #expect(isForgotten && hosts.isEmpty)
  }

  @Test func hostsCanBeForgotten() {
    var hosts = Self.hosts("a.example")
    _ = hosts.note(Self.said("max-age=1"), from: "b.example", at: 0)
    hosts.remove("A.example.")
    #expect(hosts.count == 1)
    hosts.removeAll()
    #expect(hosts.isEmpty)
  }

  @Test func hostThatExpiresFirstMakesRoom() {
    var hosts = KnownHSTSHosts(limit: 2)
    _ = hosts.note(Self.said("max-age=50"), from: "first", at: 0)
    _ = hosts.note(Self.said("max-age=20"), from: "second", at: 0)
    _ = hosts.note(Self.said("max-age=100"), from: "third", at: 10)
    #expect(hosts.count == 2 && !hosts.contains("second", at: 10) && hosts.contains("first", at: 10))
    // All that have expired go at once; a known host needs no room.
    _ = hosts.note(Self.said("max-age=100"), from: "fourth", at: 200)
    _ = hosts.note(Self.said("max-age=300"), from: "fourth", at: 200)
    #expect(hosts.count == 1 && hosts.contains("fourth", at: 499))
    var none = KnownHSTSHosts(limit: 0)
    let isNoted = none.note(Self.said("max-age=1"), from: "a", at: 0)
    #expect(!isNoted && none.isEmpty)
  }

  /// §8.3.
  @Test(
    arguments: [
      ("http://example.com/a?b#c", "https://example.com/a?b#c"), ("http://example.com:80/", "https://example.com/"),
      ("HTTP://Example.com:0080", "https://Example.com"), ("http://example.com:/a", "https://example.com/a"),
      ("http://example.com:8080/", "https://example.com:8080/"),
      ("http://u:80@example.com/", "https://u:80@example.com/"),
      ("http://u:p@a.example.com:80/", "https://u:p@a.example.com/"),
      ("http://example.com:443/", "https://example.com:443/"),
      ("ws://example.com:80/s", "wss://example.com/s"), ("https://example.com:80/", nil), ("wss://example.com/", nil),
      ("http://other.example/", nil), ("ftp://example.com/", nil), ("http://127.0.0.1/", nil),
      ("http://[::1]:80/", nil),
      ("//example.com/", nil), ("http:///a", nil), ("http://example.com:99999/", nil),
    ] as [(String, String?)])
  func insecureURLIsRewritten(url: String, secured: String?) {
    let hosts = Self.hosts("example.com", "max-age=100; includeSubDomains")
    #expect(hosts.secured(URIReference(url), at: 0)?.text == secured)
    #expect(hosts.secured(URIReference(url), at: 100) == nil)
    #expect(KnownHSTSHosts().secured(URIReference(url), at: 0) == nil)
  }

  @Test func storedFormIsReadBack() throws {
    var hosts = Self.hosts("example.com", "max-age=100; includeSubDomains")
    _ = hosts.note(Self.said("max-age=7"), from: "b.example", at: 0)
    let data = try JSONEncoder().encode(hosts)
    #expect(try JSONDecoder().decode(KnownHSTSHosts.self, from: data) == hosts)
  }

  @Test func storedFormIsNotTrusted() throws {
    func read(_ text: String) throws -> KnownHSTSHosts {
      try JSONDecoder().decode(KnownHSTSHosts.self, from: Data(text.utf8))
    }
    let entry = #"{"host": "127.0.0.1", "includesSubdomains": true, "expiry": 100}"#
    #expect(try read(#"{"version": 1, "hosts": [\#(entry)]}"#).isEmpty)
    #expect(throws: DecodingError.self) { try read(#"{"version": 2, "hosts": []}"#) }
    #expect(throws: DecodingError.self) { try read(#"{"version": 1}"#) }
    let many = (0..<10_010).map { #"{"host": "h\#($0)", "includesSubdomains": true, "expiry": 100}"# }
    #expect(try read(#"{"version": 1, "hosts": [\#(many.joined(separator: ","))]}"#).count == 10_000)
  }
}
