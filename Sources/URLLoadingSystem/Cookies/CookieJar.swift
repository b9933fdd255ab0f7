import Foundation
import HTTPSemantics

/// The cookies of one store, by domain. A value without lock or clock: time is passed in.
struct CookieJar: Sendable {
  struct Entry: Sendable {
    var cookie: HTTPCookie
    /// When the cookie was last stored.
    var stored: Date
    /// The place among all cookies by when their name, domain and path were first stored.
    var order: UInt64
  }

  private var byDomain: [String: [Entry]] = [:]
  private var nextOrder: UInt64 = 0
  private(set) var count = 0

  /// RFC 6265bis §6.1 asks for at least 50 a domain and 3000 in all; beyond, the oldest go.
  static let mostPerDomain = 180
  static let mostInAll = 6_000

  /// Every cookie that has not ended, oldest first.
  func all(at now: Date) -> [HTTPCookie] {
    byDomain.values.joined().filter { !$0.hasEnded(at: now) }.sorted { $0.order < $1.order }.map(\.cookie)
  }

  /// Stores a cookie in place of the one with its name, domain and path; one that has ended only removes that.
  /// - Returns: whether anything changed.
  @discardableResult
  mutating func set(_ cookie: HTTPCookie, at now: Date) -> Bool {
    let domain = cookie.domain.lowercased()
    var entries = byDomain[domain] ?? []
    let old = entries.firstIndex { $0.cookie.name == cookie.name && $0.cookie.path == cookie.path }
    var entry = Entry(cookie: cookie, stored: now, order: nextOrder)
    nextOrder += 1
    if entry.hasEnded(at: now) {
      guard let old else { return false }
      entries.remove(at: old)
    } else if let old {
      // §5.7 step 23: the replacement keeps its predecessor's age, and so its place in the Cookie field.
      entry.order = entries[old].order
      let isSame = entries[old].cookie.isEqual(cookie)
      entries[old] = entry
      if isSame {
        byDomain[domain] = entries
        return false
      }
    } else {
      entries.removeAll { $0.hasEnded(at: now) }
      if entries.count >= CookieJar.mostPerDomain { entries.removeFirst() }
      entries.append(entry)
    }
    replace(entries, in: domain)
    if count > CookieJar.mostInAll { removeOldest() }
    return true
  }

  /// RFC 6265bis §5.7 step 17: whether a cookie from an insecure place would hide or replace a secure one.
  func hidesSecureCookie(_ cookie: HTTPCookie) -> Bool {
    func host(_ domain: String) -> String { domain.hasPrefix(".") ? String(domain.dropFirst()) : domain }
    let new = host(cookie.domain.lowercased())
    return byDomain.contains { domain, entries in
      CookieRules.isSameSite(host(domain), new)
        && entries.contains {
          $0.cookie.isSecure && $0.cookie.name == cookie.name
            && CookieRules.pathMatches(path: cookie.path, cookiePath: $0.cookie.path)
        }
    }
  }

  /// Removes the cookie with this one's name, domain and path.
  mutating func remove(_ cookie: HTTPCookie) -> Bool {
    removeAll(in: cookie.domain.lowercased()) { $0.cookie.name == cookie.name && $0.cookie.path == cookie.path }
  }

  /// Removes what was stored at `date` or later.
  mutating func remove(since date: Date) -> Bool {
    byDomain.keys.reduce(false) { removed, domain in
      removeAll(in: domain) { $0.stored >= date } || removed
    }
  }

  /// RFC 6265bis §5.8.3: the cookies for a request, longer paths first and older ones before newer ones.
  func cookies(host: String, path: String, port: Int?, isSecure: Bool, at now: Date) -> [HTTPCookie] {
    guard !byDomain.isEmpty else { return [] }
    var found: [Entry] = []
    for scope in CookieRules.scopes(for: host) {
      guard let entries = byDomain[scope] else { continue }
      found += entries.filter { entry in
        let contents = entry.cookie.contents
        return !entry.hasEnded(at: now) && (isSecure || !contents.isSecure)
          && CookieRules.pathMatches(path: path, cookiePath: contents.path)
          && (contents.ports.map { ports in port.map(ports.contains) ?? false } ?? true)
      }
    }
    found.sort {
      let lengths = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
      return lengths.0 == lengths.1 ? $0.order < $1.order : lengths.0 > lengths.1
    }
    return found.map(\.cookie)
  }

  private mutating func removeAll(in domain: String, where isGone: (Entry) -> Bool) -> Bool {
    guard let entries = byDomain[domain] else { return false }
    let kept = entries.filter { !isGone($0) }
    replace(kept, in: domain)
    return kept.count != entries.count
  }

  private mutating func replace(_ entries: [Entry], in domain: String) {
    count += entries.count - (byDomain[domain]?.count ?? 0)
    byDomain[domain] = entries.isEmpty ? nil : entries
  }

  private mutating func removeOldest() {
    guard let oldest = byDomain.values.joined().min(by: { $0.order < $1.order }) else { return }
    _ = remove(oldest.cookie)
  }
}

extension CookieJar.Entry {
  func hasEnded(at now: Date) -> Bool { cookie.contents.expires.map { $0 <= now } ?? false }
}
