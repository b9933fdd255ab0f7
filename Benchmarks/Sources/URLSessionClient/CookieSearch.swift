#if OURS
import Foundation
import FoundationNetworking
import Harness

/// The cookies for a URL among many of many sites, in turn with the same question to a store with a hundredth of the
/// sites.
struct CookieSearch {
  private let assignment: Assignment

  /// Each site has so many: half of its cookies are for one host, half for its domain.
  private static let cookiesPerSite = 10

  init(_ assignment: Assignment) { self.assignment = assignment }

  func run() async throws {
    let sites = assignment.count / CookieSearch.cookiesPerSite
    let large = CookieSearch.storage(sites: sites)
    let small = CookieSearch.storage(sites: max(sites / 100, 1))
    let urls = try (0..<sites).map { site in try CookieSearch.url(site) }
    let find = TimedCall("find") {
      large.cookies(for: urls[.random(in: 0..<sites)])
    } check: {
      CookieSearch.check($0)
    }
    let findAmongFew = TimedCall("find in a hundredth") {
      small.cookies(for: urls[.random(in: 0..<max(sites / 100, 1))])
    } check: {
      CookieSearch.check($0)
    }
    try await reportTimes(of: [find, findAmongFew], assignment)
  }

  private static func check(_ cookies: [HTTPCookie]?) {
    guard cookies?.count == cookiesPerSite else { fail("\(cookies?.count ?? 0) cookies instead of \(cookiesPerSite)") }
  }

  /// A store of its own, in memory.
  private static func storage(sites: Int) -> HTTPCookieStorage {
    guard let storage = URLSessionConfiguration.ephemeral.httpCookieStorage else { fail("no store of cookies") }
    for site in 0..<sites {
      for number in 0..<cookiesPerSite {
        let domain = number % 2 == 0 ? "www.site\(site).example" : ".site\(site).example"
        guard
          let cookie = HTTPCookie(properties: [
            .name: "name\(number)", .value: "value\(site)", .domain: domain, .path: "/",
          ])
        else { fail("no cookie of \(domain)") }
        storage.setCookie(cookie)
      }
    }
    return storage
  }

  private static func url(_ site: Int) throws -> URL {
    guard let url = URL(string: "http://www.site\(site).example/pages/1") else { throw URLError(.badURL) }
    return url
  }
}
#endif
