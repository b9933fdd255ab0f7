import HTTPSemantics
import Testing

/// RFC 6797 §6.1.
@Suite struct StrictTransportSecurityTests {
  @Test(
    arguments: [
      ("max-age=31536000", 31_536_000, false), ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
      ("max-age=\"31536000\"", 31_536_000, false), ("max-age=0", 0, false), ("max-age=0; includeSubDomains", 0, true),
      ("MAX-AGE = 1 ;INCLUDESUBDOMAINS", 1, true), (" ; ;max-age=1;; ", 1, false),
      ("includeSubDomains; max-age=1", 1, true), ("max-age=1; preload; x=y; z=\"a;\\\"b\"", 1, false),
      ("\tmax-age=1\t", 1, false), ("max-age=\"\\1\"", 1, false), ("max-age=007", 7, false),
      ("max-age=99999999999999999999", .max, false),
    ] as [(String, Int64, Bool)])
  func policyIsRead(value: String, maxAge: Int64, includesSubdomains: Bool) {
    let policy = StrictTransportSecurity(parsing: value)
    #expect(policy?.maxAge == maxAge && policy?.includesSubdomains == includesSubdomains)
  }

  @Test(
    arguments: [
      "", ";", "includeSubDomains", "max-age", "max-age=", "max-age=\"\"", "max-age=a", "max-age=-1", "max-age=1.5",
      "max-age=1 2", "max-age=1, max-age=2", "max-age=1; max-age=1", "max-age=1; MAX-AGE=2",
      "max-age=1; includeSubDomains; includesubdomains", "max-age=1; x; x", "max-age=1; includeSubDomains=true",
      "max-age=\"1", "max-age=\"1\\", "max-age=\"1\"2", "max-age=1; =2", "max-age=1; a b", "max-age=1; x=",
      "\"max-age\"=1",
      "max-age=1; \u{FC}",
    ])
  func malformedPolicyIsIgnored(value: String) { #expect(StrictTransportSecurity(parsing: value) == nil) }

  /// RFC 6797 §8.1.
  @Test func onlyTheFirstFieldCounts() {
    let name = "Strict-Transport-Security"
    #expect(StrictTransportSecurity([name: "max-age=1", "strict-transport-security": "max-age=2"])?.maxAge == 1)
    #expect(StrictTransportSecurity([name: "max-age=x", "strict-transport-security": "max-age=2"]) == nil)
    #expect(StrictTransportSecurity([:]) == nil)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [";", "a;", "a=\"", "\\", " "])
  func lengthIsLimited(piece: String) {
    let value = "max-age=1;" + String(repeating: piece, count: 250_000 / piece.utf8.count)
    #expect(StrictTransportSecurity(parsing: value) == nil)
  }
}
