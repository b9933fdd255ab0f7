import SystemServices
import Testing

@Suite struct PublicSuffixLibraryTests {
  @Test(arguments: [
    ("com", true), ("co.uk", true), ("github.io", true), ("example.com", false), ("example.co.uk", false),
    ("www.ck", false), ("anything.ck", true), ("no-such-top-level-domain", true), ("xn--p1ai", true),
    ("co.uk.", true), ("uk.", true), ("github.io.", true), ("example.co.uk.", false),
  ])
  func theSystemsListIsUsed(domain: String, isSuffix: Bool) throws {
    let list = try #require(PublicSuffixLibrary.shared)
    #expect(list.isPublicSuffix(domain) == isSuffix)
  }

  @Test(
    arguments: [
      ("www.example.com", "example.com"), ("example.com", "example.com"), ("a.b.example.co.uk", "example.co.uk"),
      ("co.uk", nil), ("com", nil), ("me.github.io", "me.github.io"), ("localhost", nil),
      ("www.example.co.uk.", "example.co.uk."), ("co.uk.", nil), ("localhost.", nil), (".", nil), ("", nil),
      // The cases of publicsuffix.org's own table that differ in their rule.
      (".com", nil), (".example", nil), (".example.com", nil), (".example.example", nil),
      ("a.b.example.example", "example.example"), ("b.domain.biz", "domain.biz"), ("uk.com", nil),
      ("a.b.example.uk.com", "example.uk.com"), ("test.ac", "test.ac"), ("c.mm", nil), ("a.b.c.mm", "b.c.mm"),
      ("www.test.jp", "test.jp"), ("ac.jp", nil), ("www.test.ac.jp", "test.ac.jp"), ("kyoto.jp", nil),
      ("ide.kyoto.jp", nil), ("a.b.ide.kyoto.jp", "b.ide.kyoto.jp"), ("c.kobe.jp", nil),
      ("a.b.c.kobe.jp", "b.c.kobe.jp"), ("city.kobe.jp", "city.kobe.jp"), ("www.city.kobe.jp", "city.kobe.jp"),
      ("test.ck", nil), ("a.b.test.ck", "b.test.ck"), ("www.ck", "www.ck"), ("www.www.ck", "www.ck"),
      ("www.test.us", "test.us"), ("ak.us", nil), ("k12.ak.us", nil), ("www.test.k12.ak.us", "test.k12.ak.us"),
      ("xn--85x722f.com.cn", "xn--85x722f.com.cn"), ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
      ("xn--55qx5d.cn", nil), ("www.xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"), ("xn--fiqs8s", nil),
    ] as [(String, String?)])
  func theRegistrableDomainHasOneLabelMore(host: String, domain: String?) throws {
    let list = try #require(PublicSuffixLibrary.shared)
    #expect(list.registrableDomain(of: host) == domain)
  }

  @Test func aLibraryThatIsNotInstalledIsNone() {
    #expect(PublicSuffixLibrary(named: "libpsl-of-another-time.so.5") == nil)
  }
}
