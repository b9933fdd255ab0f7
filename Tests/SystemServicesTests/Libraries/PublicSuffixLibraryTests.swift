import SystemServices
import Testing

@Suite struct PublicSuffixLibraryTests {
  @Test(arguments: [
    ("com", true), ("co.uk", true), ("github.io", true), ("example.com", false), ("example.co.uk", false),
    ("www.ck", false), ("anything.ck", true), ("no-such-top-level-domain", true), ("xn--p1ai", true),
  ])
  func theSystemsListIsUsed(domain: String, isSuffix: Bool) throws {
    let list = try #require(PublicSuffixLibrary.shared)
    #expect(list.isPublicSuffix(domain) == isSuffix)
  }

  @Test(
    arguments: [
      ("www.example.com", "example.com"), ("example.com", "example.com"), ("a.b.example.co.uk", "example.co.uk"),
      ("co.uk", nil), ("com", nil), ("me.github.io", "me.github.io"), ("localhost", nil),
    ] as [(String, String?)])
  func theRegistrableDomainHasOneLabelMore(host: String, domain: String?) throws {
    let list = try #require(PublicSuffixLibrary.shared)
    #expect(list.registrableDomain(of: host) == domain)
  }

  @Test func aLibraryThatIsNotInstalledIsNone() {
    #expect(PublicSuffixLibrary(named: "libpsl-of-another-time.so.5") == nil)
  }
}
