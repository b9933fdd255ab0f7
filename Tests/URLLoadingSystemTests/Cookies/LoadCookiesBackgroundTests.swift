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
