import Foundation
import HTTPSemantics

/// The cookies of one store, by domain. A value without lock or clock: time is passed in.
struct CookieJar: Sendable {
  /// The cookies of one domain, in one partition.
  private struct Domain: Hashable {
    var name: String
    var partition: String?
  }

  private var domains: [Domain: [CookieEntry]] = [:]
  /// The domains with secure cookies, by each domain that they are or lie below, with how many they have.
  private var secureDomains: [String: [Domain: Int]] = [:]
  private var lastOrder: Int64 = 0
  private var uses: UInt64 = 0
  private var partitionedCount = 0
  private(set) var count = 0
  /// Cookies that outlive the process and were changed here since `takeChanges` was last called.
  private var changes: Set<CookieIdentity> = []
  /// When those were stored that outlive the process and were removed here.
  private var removals: [CookieIdentity: Date] = [:]

  /// RFC 6265bis §6.1 asks for at least 50 a domain and 3000 in all.
  static let mostPerDomain = 180
  static let mostInAll = 12_000
  /// So many are left when there were too many, so that the next one does not begin the search for the oldest anew.
  static let leftOfAll = 11_000
  private static let mostRemovals = 1_000

  /// Every cookie that has not ended, oldest first.
  func all(at now: Date) -> [HTTPCookie] {
    domains.values.joined().filter { !$0.hasEnded(at: now) }.sorted { $0.order < $1.order }.map(\.cookie)
  }

  // MARK: Storing

  /// Stores a cookie in place of the one with its identity; one that has ended only removes that.
  /// - Returns: whether anything changed.
  @discardableResult
  mutating func set(_ cookie: HTTPCookie, at now: Date) -> Bool {
    let identity = CookieIdentity(cookie)
    let domain = Domain(name: identity.domain, partition: identity.partition)
    uses += 1
    var entry = CookieEntry(cookie: cookie, stored: now, order: 0, lastUse: uses)
    guard !entry.hasEnded(at: now) else { return remove(identity) }
    if let index = index(of: identity, in: domain), let old = domains[domain]?[index] {
      if old.hasEnded(at: now) {
        // §5.7, the end: as good as evicted before, so that its age is no other cookie's.
        remove(at: index, in: domain)
      } else {
        // §5.7 step 24: the replacement keeps its predecessor's age, and so its place in the Cookie field.
        entry.order = old.order
        replace(at: index, in: domain, with: entry)
        if old.isPersistent || entry.isPersistent { changes.insert(identity) }
        return !old.cookie.isEqual(cookie)
      }
    }
    entry.order = nextOrder(at: now)
    makeRoom(in: domain, at: now)
    append(entry, to: domain)
    if entry.isPersistent { changes.insert(identity) }
    if count > CookieJar.mostInAll { evict(at: now) }
    return true
  }

  private mutating func nextOrder(at now: Date) -> Int64 {
    let (next, isTooLarge) = lastOrder.addingReportingOverflow(1)
    lastOrder = isTooLarge ? lastOrder : max(next, Int64(now.timeIntervalSince1970 * 1_000_000))
    return lastOrder
  }

  // MARK: Limits

  /// §5.7, the end: of a domain that has too many, first those that have ended, then those that are not secure, then
  /// all, each time the one that was not used for longest.
  private mutating func makeRoom(in domain: Domain, at now: Date) {
    guard let entries = domains[domain], entries.count >= CookieJar.mostPerDomain else { return }
    removeAll(in: domain) { $0.hasEnded(at: now) }
    guard let left = domains[domain], left.count >= CookieJar.mostPerDomain else { return }
    let oldest = left.indices.min {
      let (isFirst, isSecond) = (left[$0].isSecure, left[$1].isSecure)
      return isFirst == isSecond ? left[$0].lastUse < left[$1].lastUse : !isFirst
    }
    if let oldest { remove(at: oldest, in: domain) }
  }

  /// The last of these limits: of all cookies first those that have ended, then those that were not used for longest.
  private mutating func evict(at now: Date) {
    for domain in domains.keys { removeAll(in: domain) { $0.hasEnded(at: now) } }
    guard count > CookieJar.mostInAll else { return }
    let byUse = domains.values.joined().sorted { $0.lastUse < $1.lastUse }
    for entry in byUse.prefix(count - CookieJar.leftOfAll) { remove(CookieIdentity(entry.cookie)) }
  }

  // MARK: Secure cookies

  /// §5.7 step 16: whether a cookie from an insecure place would hide or replace a secure one that has not ended.
  func hidesSecureCookie(_ cookie: HTTPCookie, at now: Date) -> Bool {
    guard !secureDomains.isEmpty else { return false }
    let contents = cookie.contents
    let host = CookieJar.host(contents.domain.lowercased())
    func isHidden(in domain: Domain) -> Bool {
      domain.partition == contents.partition
        && domains[domain]?.contains {
          $0.isSecure && !$0.hasEnded(at: now) && $0.cookie.contents.name.utf8.elementsEqual(contents.name.utf8)
            && CookieRules.pathMatches(path: contents.path, cookiePath: $0.cookie.contents.path)
        } == true
    }
    if secureDomains[host]?.keys.contains(where: isHidden) == true { return true }
    return CookieRules.scopes(for: host).contains { scope in
      isHidden(in: Domain(name: scope, partition: contents.partition))
        || isHidden(in: Domain(name: CookieJar.host(scope), partition: contents.partition))
    }
  }

  private static func host(_ domain: String) -> String {
    domain.utf8.first == UInt8(ascii: ".") ? String(Substring(domain.utf8.dropFirst())) : domain
  }

  private mutating func countSecure(_ entry: CookieEntry, _ domain: Domain, by step: Int) {
    guard entry.isSecure else { return }
    let host = CookieJar.host(domain.name)
    let above = CookieRules.isAddress(host) ? [host] : CookieRules.scopes(for: host).dropFirst().map(CookieJar.host)
    for name in above {
      let count = (secureDomains[name]?[domain] ?? 0) + step
      secureDomains[name, default: [:]][domain] = count > 0 ? count : nil
      if secureDomains[name]?.isEmpty == true { secureDomains[name] = nil }
    }
  }

  // MARK: Finding

  /// RFC 6265bis §5.8.3: the cookies for a request, longer paths first and older ones before newer ones.
  mutating func cookies(
    for request: CookieRequest, suffixes: @autoclosure () -> (any PublicSuffixes)?, at now: Date
  ) -> [HTTPCookie] {
    guard count > 0 else { return [] }
    uses += 1
    var search = Search(request: request, now: now, uses: uses)
    let scopes = CookieRules.scopes(for: request.place.host)
    for scope in scopes {
      collect(Domain(name: scope, partition: request.partition), suffixes(), &search)
    }
    // Partitioned cookies, where the app has not chosen a partition for all.
    if request.partition == nil, partitionedCount > 0 {
      let partition = request.ownPartition(suffixes())
      for scope in scopes { collect(Domain(name: scope, partition: partition), suffixes(), &search) }
    }
    return search.cookies
  }

  /// A look-up that goes through one domain after the other.
  private struct Search {
    let request: CookieRequest
    let now: Date
    let uses: UInt64
    /// Found out with the first cookie that asks.
    var isSameSite: Bool?
    private var found: [(cookie: HTTPCookie, pathLength: Int, order: Int64)] = []

    init(request: CookieRequest, now: Date, uses: UInt64) {
      self.request = request
      self.now = now
      self.uses = uses
    }

    mutating func add(_ entry: CookieEntry) { found.append((entry.cookie, entry.pathLength, entry.order)) }

    var cookies: [HTTPCookie] {
      guard found.count > 1 else { return found.map(\.cookie) }
      return found.sorted { $0.pathLength == $1.pathLength ? $0.order < $1.order : $0.pathLength > $1.pathLength }
        .map(\.cookie)
    }
  }

  private mutating func collect(
    _ domain: Domain, _ suffixes: @autoclosure () -> (any PublicSuffixes)?, _ search: inout Search
  ) {
    guard let place = domains.index(forKey: domain) else { return }
    domains.values[place].withUnsafeMutableBufferPointer { entries in
      for index in entries.indices {
        guard !entries[index].hasEnded(at: search.now), entries[index].matches(search.request.place) else { continue }
        if let policy = entries[index].sameSite {
          let isSame = search.isSameSite ?? search.request.isSameSite(suffixes())
          search.isSameSite = isSame
          let isSafeNavigation = search.request.isNavigation && search.request.isSafe
          guard isSame || CookieRules.isSentCrossSite(policy, isSafeNavigation: isSafeNavigation) else { continue }
        }
        entries[index].lastUse = search.uses
        search.add(entries[index])
      }
    }
  }

  // MARK: Removing

  /// Removes the cookie of this identity.
  @discardableResult
  mutating func remove(_ identity: CookieIdentity) -> Bool {
    let domain = Domain(name: identity.domain, partition: identity.partition)
    guard let index = index(of: identity, in: domain) else { return false }
    remove(at: index, in: domain)
    return true
  }

  private mutating func remove(at index: Int, in domain: Domain) {
    guard let entry = domains[domain]?.remove(at: index) else { return }
    if domains[domain]?.isEmpty == true { domains[domain] = nil }
    forget(entry, domain)
  }

  /// An entry is gone.
  private mutating func forget(_ entry: CookieEntry, _ domain: Domain) {
    count -= 1
    if domain.partition != nil { partitionedCount -= 1 }
    countSecure(entry, domain, by: -1)
    guard entry.isPersistent else { return }
    let identity = CookieIdentity(entry.cookie)
    changes.insert(identity)
    if removals.count >= CookieJar.mostRemovals { removals = [:] }
    removals[identity] = entry.stored
  }

  /// Removes what was stored at `date` or later.
  mutating func remove(since date: Date) -> Bool {
    domains.keys.reduce(false) { removed, domain in removeAll(in: domain) { $0.stored >= date } || removed }
  }

  @discardableResult
  private mutating func removeAll(in domain: Domain, where isGone: (CookieEntry) -> Bool) -> Bool {
    guard let entries = domains[domain], entries.contains(where: isGone) else { return false }
    let kept = entries.filter { !isGone($0) }
    domains[domain] = kept.isEmpty ? nil : kept
    for entry in entries where isGone(entry) { forget(entry, domain) }
    return true
  }

  // MARK: Entries

  private func index(of identity: CookieIdentity, in domain: Domain) -> Int? {
    let pathLength = identity.path.utf8.count
    return domains[domain]?.firstIndex {
      $0.pathLength == pathLength && $0.cookie.contents.name.utf8.elementsEqual(identity.name.utf8)
        && $0.cookie.contents.path.utf8.elementsEqual(identity.path.utf8)
    }
  }

  private mutating func append(_ entry: CookieEntry, to domain: Domain) {
    domains[domain, default: []].append(entry)
    count += 1
    if domain.partition != nil { partitionedCount += 1 }
    countSecure(entry, domain, by: 1)
  }

  private mutating func replace(at index: Int, in domain: Domain, with entry: CookieEntry) {
    guard let old = domains[domain]?[index] else { return }
    countSecure(old, domain, by: -1)
    domains[domain]?[index] = entry
    countSecure(entry, domain, by: 1)
  }

  // MARK: The disk

  var hasChanges: Bool { !changes.isEmpty }
  var changeCount: Int { changes.count }

  /// The cookies that were changed since the last call: with their entry where they are to be kept on the disk.
  mutating func takeChanges() -> [CookieIdentity: CookieEntry?] {
    defer { changes = [] }
    return changes.reduce(into: [:]) { taken, identity in taken.updateValue(persistent(identity), forKey: identity) }
  }

  /// Changes that did not get to the disk.
  mutating func putBack(_ identities: some Sequence<CookieIdentity>) { changes.formUnion(identities) }

  /// The file with the cookies is gone: what is to be kept is written again, also where another process begins the next.
  mutating func noteLoss() { changes.formUnion(persistentEntries.map { CookieIdentity($0.cookie) }) }

  /// Every cookie that is to be kept on the disk.
  var persistentEntries: [CookieEntry] { domains.values.joined().filter(\.isPersistent) }

  private func persistent(_ identity: CookieIdentity) -> CookieEntry? {
    let domain = Domain(name: identity.domain, partition: identity.partition)
    return index(of: identity, in: domain).flatMap { domains[domain]?[$0] }.flatMap { $0.isPersistent ? $0 : nil }
  }

  /// Takes over what another process has written. What this one has changed and not written yet stays as it is.
  ///
  /// A process that begins a new file writes all cookies that it knows: among them may be some that this one has removed
  /// before it could learn of that. They stay removed, and become changes to be written.
  /// - Parameters:
  ///   - isAll: Whether these are all cookies on the disk, so that others are gone.
  /// - Returns: whether anything changed.
  mutating func merge(
    _ written: [CookieEntry], removed: [CookieIdentity], isAll: Bool, at now: Date
  ) -> Bool {
    var isChanged = false
    let removals = self.removals
    let returned = written.lazy.filter { isAll && Self.isSame($0, as: removals) }.map { CookieIdentity($0.cookie) }
    let own = changes.union(returned)
    let identities = Set(written.map { CookieIdentity($0.cookie) })
    let gone = isAll ? persistentEntries.map { CookieIdentity($0.cookie) }.filter { !identities.contains($0) } : removed
    for identity in gone where !own.contains(identity) && persistent(identity) != nil {
      isChanged = remove(identity) || isChanged
    }
    for var entry in written where !entry.hasEnded(at: now) {
      let identity = CookieIdentity(entry.cookie)
      guard !own.contains(identity) else { continue }
      lastOrder = max(lastOrder, entry.order)
      entry.lastUse = uses
      let domain = Domain(name: identity.domain, partition: identity.partition)
      if let index = index(of: identity, in: domain), let old = domains[domain]?[index] {
        isChanged = !old.cookie.isEqual(entry.cookie) || isChanged
        replace(at: index, in: domain, with: entry)
      } else {
        append(entry, to: domain)
        isChanged = true
      }
    }
    // Cookies that were taken from the disk are no changes of ours.
    changes = own
    self.removals = removals
    return isChanged
  }

  /// Whether the entry is one that was removed, and not a later one of its identity.
  private static func isSame(_ entry: CookieEntry, as removals: [CookieIdentity: Date]) -> Bool {
    // The disk has the time since another year, which may round.
    removals[CookieIdentity(entry.cookie)].map { entry.stored.timeIntervalSince($0) < 0.001 } ?? false
  }
}
