import HTTPSemantics
import Testing

@Suite struct CacheRequestTests {
  /// RFC 9111 §4: which requests may wait for the response to another one.
  @Test(
    arguments: [
      ("GET", [:], .protocolRules, true), ("GET", ["Cookie": "a=b", "Authorization": "c"], .protocolRules, true),
      ("GET", ["Cache-Control": "max-stale=5"], .protocolRules, true), ("GET", [:], .preferStored, true),
      ("HEAD", [:], .protocolRules, false), ("POST", [:], .protocolRules, false), ("GET", [:], .reload, false),
      ("GET", [:], .onlyStored, false), ("GET", [:], .revalidate, false),
      ("GET", ["Range": "bytes=0-1"], .protocolRules, false), ("GET", ["If-None-Match": "a"], .protocolRules, false),
      ("GET", ["Cache-Control": "no-store"], .protocolRules, false),
      ("GET", ["Pragma": "no-cache"], .protocolRules, false),
      ("GET", ["Cache-Control": "max-age=0"], .protocolRules, false),
      ("GET", ["Cache-Control": "min-fresh=5"], .protocolRules, false),
      ("GET", ["Cache-Control": "only-if-cached"], .protocolRules, false),
    ] as [(String, HTTPFields, CacheUsage, Bool)])
  func sharesAFetch(_ method: String, _ fields: HTTPFields, _ usage: CacheUsage, _ expected: Bool) {
    #expect(CacheRequest(method: method, fields: fields, usage: usage).mayShareFetch == expected)
  }
}
