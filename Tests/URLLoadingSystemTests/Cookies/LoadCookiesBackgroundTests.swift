import Foundation
import HTTPSemantics
import Testing

@testable import URLLoadingSystem

/// Cookies of tasks that another process loads.
@Suite struct LoadCookiesBackgroundTests {
  let configuration = URLSessionConfiguration.ephemeral

  func storage() throws -> HTTPCookieStorage { try #require(configuration.httpCookieStorage) }

  func task(_ change: (inout URLRequest) -> Void = { _ in }) throws -> URLSessionTask {
    var request = URLRequest(url: try #require(URL(string: "https://www.example.com/a")))
    change(&request)
    return URLSession(configuration: configuration).downloadTask(with: request)
  }

  func field(_ task: URLSessionTask) throws -> String? { try #require(LoadCookies(configuration)).field(for: task) }

  @Test func theRequestCarriesTheCookiesOfItsURL() throws {
    for (name, domain) in [("own", ".example.com"), ("foreign", "example.org")] {
      let properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: "1", .domain: domain, .path: "/"]
      try storage().setCookie(try #require(HTTPCookie(properties: properties)))
    }
    #expect(try field(task()) == "own=1")
    #expect(try field(task { $0.httpShouldHandleCookies = false }) == nil)
    configuration.httpShouldSetCookies = false
    #expect(try field(task()) == nil)
    configuration.httpCookieStorage = nil
    #expect(LoadCookies(configuration) == nil)
  }

  /// The cookies of a transfer's request are for its origin alone.
  @Test func aTransferBeginsWithTheCookiesOfItsRequest() throws {
    var request = URLRequest(url: try #require(URL(string: "https://www.example.com/a")))
    request.setValue("a=1; alone;  b=x=y", forHTTPHeaderField: "Cookie")
    let cookies = try #require(LoadCookies(of: request))
    for (url, value) in [
      ("https://www.example.com/b", "a=1; alone; b=x=y"), ("http://www.example.com/", nil),
      ("https://www.example.com:8443/", nil), ("https://example.com/", nil), ("https://a.www.example.com/", nil),
    ] as [(String, String?)] {
      let target = try #require(URL(string: url))
      let next = try #require(CookieRequest(URLRequest(url: target)))
      #expect(cookies.storage.cookies(for: next).isEmpty == (value == nil))
      #expect(cookies.storage.field(for: next) == value)
    }
    request.setValue("a=1; a=2", forHTTPHeaderField: "Cookie")
    #expect(LoadCookies(of: request) == nil)
  }

  /// The response may be that of another URL, after redirects.
  @Test func theResponsesCookiesAreStored() async throws {
    let head = HTTPResponseHead(version: .http11, status: 200, fields: ["Set-Cookie": "a=1; Path=/"])
    let response = HTTPURLResponse(url: URL(string: "https://files.example.org/b"), head: head)
    let (storage, cookies) = (try storage(), try #require(LoadCookies(configuration)))
    cookies.keep(response, of: try task { $0.httpShouldHandleCookies = false })
    cookies.keep(response, of: try task())
    while storage.cookies?.isEmpty != false { await Task.yield() }
    #expect(storage.cookies?.map(\.domain) == ["files.example.org"])
  }
}
