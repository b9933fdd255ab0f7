import Testing

@testable import SystemServices

@Suite struct DomainResolutionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let way: NameSources.Way
    var encryption: EncryptedDNS?
    var isConfidential: Bool?
    var addresses = 1
    let resolution: DomainResolution
  }

  static let cases: [Case] = [
    Case(testDescription: "another source", way: .unknown, encryption: .always, resolution: .unknown),
    Case(
      testDescription: "a file that has what the DNS has", way: .unknown, encryption: .always, isConfidential: true,
      resolution: .unknown),
    Case(testDescription: "name servers", way: .servers(.udp), resolution: .udp),
    Case(testDescription: "name servers over TCP", way: .servers(.tcp), addresses: 100, resolution: .tcp),
    Case(testDescription: "a server of this machine", way: .servers(.unknown), resolution: .unknown),
    Case(testDescription: "eight addresses", way: .servers(.udp), addresses: 8, resolution: .udp),
    Case(testDescription: "more than a datagram may have", way: .servers(.udp), addresses: 9, resolution: .unknown),
    Case(testDescription: "TLS is off", way: .resolved, encryption: .never, resolution: .udp),
    Case(
      testDescription: "TLS is off, many addresses", way: .resolved, encryption: .never, addresses: 9,
      resolution: .unknown),
    Case(testDescription: "TLS is on", way: .resolved, encryption: .always, addresses: 9, resolution: .tls),
    Case(testDescription: "TLS as servers can", way: .resolved, encryption: .sometimes, resolution: .unknown),
    Case(testDescription: "nothing is said", way: .resolved, resolution: .unknown),
    Case(
      testDescription: "TLS as servers can, and this one could", way: .resolved, encryption: .sometimes,
      isConfidential: true, resolution: .tls),
    Case(
      testDescription: "TLS as servers can, and this one could not", way: .resolved, encryption: .sometimes,
      isConfidential: false, resolution: .udp),
    Case(
      testDescription: "an answer from before TLS was turned on", way: .resolved, encryption: .always,
      isConfidential: false, resolution: .udp),
    Case(
      testDescription: "encrypted, and not by TLS", way: .resolved, encryption: .never, isConfidential: true,
      resolution: .unknown),
    Case(testDescription: "encrypted in some way", way: .resolved, isConfidential: true, resolution: .unknown),
  ]

  @Test(arguments: cases) func chooses(_ row: Case) {
    let resolution = DomainResolution(
      way: row.way, encryption: row.encryption, isConfidential: row.isConfidential, addresses: row.addresses)
    #expect(resolution == row.resolution)
  }

  @Test(
    arguments: [
      ([], .sometimes), (["no"], .never), (["yes", "yes"], .always), (["no", "yes"], .sometimes),
      (["opportunistic"], .sometimes), (["newer"], .sometimes), (["no", "no"], .never),
    ] as [([String], EncryptedDNS)])
  func modesOfAllLinksCount(_ modes: [String], _ encryption: EncryptedDNS) {
    #expect(EncryptedDNS(modes: modes) == encryption)
  }
}
