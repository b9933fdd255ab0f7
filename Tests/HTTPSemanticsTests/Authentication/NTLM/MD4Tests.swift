import HTTPSemantics
import Testing

/// RFC 1320 appendix A.5, and the password of MS-NLMP §4.2.2.1.2.
@Suite struct MD4Tests {
  @Test(
    arguments: [
      ("", "31d6cfe0d16ae931b73c59d7e0c089c0"), ("a", "bde52cb31de33e46245e05fbdbd6fb24"),
      ("abc", "a448017aaf21d8525fc10ae87aa6729d"), ("message digest", "d9130a8164549fe818874806e1c7014b"),
      ("abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9"),
      (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "043f8582f241db351ce627e153e7f0e4"
      ),
      (String(repeating: "1234567890", count: 8), "e33b4ddc9c38f2199c3e7b164fcc0536"),
      ("P\u{0}a\u{0}s\u{0}s\u{0}w\u{0}o\u{0}r\u{0}d\u{0}", "a4f49c406510bdcab6824ee7c30fd852"),
    ])
  func digestMatchesThePublishedOne(message: String, digest: String) {
    #expect(MD4.digest(Array(message.utf8)).hexText == digest)
  }
}
