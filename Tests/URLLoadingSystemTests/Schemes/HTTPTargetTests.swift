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
    ("http://host:/", "host", 80, "/", "host"),
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
    "http://[::1/", "http://[::1]x/", "ftp://host/", "http://", "http://user@/",
  ])
  func whatIsNoTarget(_ text: String) { #expect(HTTPTarget(text: text) == nil) }
}
