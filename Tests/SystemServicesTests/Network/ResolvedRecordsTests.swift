import RealServers
import Testing

@testable import SystemServices

/// Against systemd-resolved as programs see it.
@Suite(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
struct ResolvedRecordsTests {
  @Test func recordsAreThoseOfTheirNameAndType() async throws {
    let resolver = try await MockResolved.start(
      [],
      records: [
        .init("a.test", type: 65, [1, 2, 3]), .init("a.test", type: 65, []), .init("a.test", type: 64, [4]),
        .init("_8443._https.b.test", type: 65, Array(repeating: 0xff, count: 500)),
      ])
    let records = ResolvedRecords(address: resolver.address)
    #expect(records.records(of: "a.test", type: 65) == [[1, 2, 3], []])
    #expect(records.records(of: "_8443._https.b.test", type: 65) == [Array(repeating: 0xff, count: 500)])
    #expect(records.records(of: "c.test", type: 65).isEmpty)
    await resolver.stop()
    #expect(records.records(of: "a.test", type: 65).isEmpty)
  }
}

@Suite struct ResolverConfigurationTests {
  @Test(arguments: [
    ("nameserver 127.0.0.53\noptions edns0\n", true), ("# stub\nnameserver\t127.0.0.54", true),
    ("nameserver 127.0.0.53\nnameserver 192.0.2.1\n", false), ("nameserver 127.0.0.1\n", false), ("", false),
    ("search example\n", false), ("nameserver\n", false),
  ])
  func resolvedIsTheResolver(_ configuration: String, _ isResolver: Bool) {
    #expect(ResolvedRecords.isResolver(in: configuration) == isResolver)
  }
}
