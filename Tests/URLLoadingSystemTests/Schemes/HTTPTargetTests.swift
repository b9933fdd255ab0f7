import Foundation
import HTTPTransport
import Testing

@testable import URLLoadingSystem

@Suite struct HTTPTargetTests {
  @Test(arguments: [
    ("http://Example.COM/a?b#c", "example.com", 80, "/a?b", "example.com"),
    ("https://host:8443", "host", 8443, "/", "host:8443"),
    ("HTTPS://host:443/x", "host", 443, "/x", "host"),
    ("http://user:pw@host?q", "host", 80, "/?q", "host"),
    ("http://[::1]:81/p", "::1", 81, "/p", "[::1]:81"),
    ("http://[2001:DB8::1]/", "2001:db8::1", 80, "/", "[2001:db8::1]"),
    ("http://host:/", "host", 80, "/", "host"), ("http://%65x%41mple/", "example", 80, "/", "example"),
    ("http://[fe80::1%25eth0]/", "fe80::1%eth0", 80, "/", "[fe80::1]"),
  ])
  func parts(_ text: String, _ host: String, _ port: Int, _ target: String, _ authority: String) throws {
    let parsed = try #require(HTTPTarget(text: text))
    #expect(parsed.key.host == host)
    #expect(parsed.key.port == port)
    #expect(parsed.requestTarget == target)
    #expect(parsed.authority == authority)
  }

  @Test(arguments: [
    "http:///path", "http://host:0/", "http://host:65536/", "http://host:99999999999999999999/", "http://host:1a/",
    "http://a%3A80/", "http://a%2Fb/", "http://a%3Fb/", "http://a%23b/", "http://%5B::1%5D/", "http://%5B%3A%3A1%5D/",
    "http://a%40b/", "http://a%5Cb/", "http://a%00b/", "http://a%0D%0Ab/", "http://a%20b/", "http://a%2525b/",
    "http://a:80:80/", "http://[::1%2F]/",
    "http://[::1/", "http://[::1]x/", "ftp://host/", "http://", "http://user@/",
  ])
  func whatIsNoTarget(_ text: String) { #expect(HTTPTarget(text: text) == nil) }
}
