import Testing

@testable import HTTPSemantics

@Suite struct TransportSecurityRulesTests {
  private static let insecure = TransportSecurityRules.HostRule(
    allowsInsecureHTTP: true, minimumTLSVersion: 0x0301, requiresForwardSecrecy: false)

  /// `example.com` with everything below it is an exception, `strict.example.com` is none; `exact.net` is one alone.
  private static func rules(arbitrary: Bool = false, local: Bool = false) -> TransportSecurityRules {
    TransportSecurityRules(
      allowsArbitraryLoads: arbitrary, allowsLocalNetworking: local,
      exceptions: [
        "Example.com": .init(includesSubdomains: true, rule: insecure),
        "strict.example.com": .init(includesSubdomains: false, rule: .strict),
        "exact.net": .init(includesSubdomains: false, rule: insecure),
        "10.0.0.1": .init(includesSubdomains: true, rule: insecure),
      ])
  }

  struct Case: Sendable {
    let host: String
    var arbitrary = false
    var local = false
    let isAllowed: Bool
  }

  static let cases = [
    Case(host: "other.org", isAllowed: false), Case(host: "other.org", arbitrary: true, isAllowed: true),
    Case(host: "other.org", local: true, isAllowed: false), Case(host: "example.com", isAllowed: true),
    Case(host: "EXAMPLE.COM.", isAllowed: true), Case(host: "www.example.com", isAllowed: true),
    Case(host: "a.b.example.com", isAllowed: true), Case(host: "badexample.com", isAllowed: false),
    Case(host: "strict.example.com", isAllowed: false),
    Case(host: "strict.example.com", arbitrary: true, isAllowed: false),
    Case(host: "a.strict.example.com", isAllowed: true), Case(host: "exact.net", isAllowed: true),
    Case(host: "www.exact.net", isAllowed: false), Case(host: "www.exact.net", arbitrary: true, isAllowed: true),
    Case(host: "localhost", isAllowed: false), Case(host: "localhost", local: true, isAllowed: true),
    Case(host: "printer.local", local: true, isAllowed: true), Case(host: "local", local: true, isAllowed: true),
    Case(host: "notlocal.example.org", local: true, isAllowed: false),
    Case(host: "192.168.1.1", isAllowed: false), Case(host: "192.168.1.1", local: true, isAllowed: true),
    Case(host: "10.0.0.1", isAllowed: true), Case(host: "5.10.0.0.1", isAllowed: false),
    Case(host: "[fe80::1]", local: true, isAllowed: true), Case(host: "fe80::1", isAllowed: false),
    Case(host: "", isAllowed: false),
  ]

  @Test(arguments: cases) func hostIsAllowedByTheMostSpecificRule(_ test: Case) {
    let rule = Self.rules(arbitrary: test.arbitrary, local: test.local).rule(forHost: test.host)
    #expect(rule.allowsInsecureHTTP == test.isAllowed)
    #expect(rule.requiresForwardSecrecy == !test.isAllowed)
  }

  @Test func strongEncryptionIsDemandedUnlessAnExceptionSaysOtherwise() {
    #expect(Self.rules().rule(forHost: "other.org").minimumTLSVersion == 0x0303)
    #expect(Self.rules().rule(forHost: "www.example.com").minimumTLSVersion == 0x0301)
    #expect(Self.rules(arbitrary: true).rule(forHost: "other.org").minimumTLSVersion == nil)
  }
}
