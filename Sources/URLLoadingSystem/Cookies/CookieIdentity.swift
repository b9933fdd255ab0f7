import Foundation

/// The values that tell one cookie of a store from another (RFC 6265bis §5.7 step 24). The domain says with its leading
/// dot whether the cookie is for one host.
struct CookieIdentity: Hashable, Sendable {
  var name: String
  var domain: String
  var path: String
  /// nil for the unpartitioned cookies.
  var partition: String?

  init(name: String, domain: String, path: String, partition: String?) {
    self.name = name
    self.domain = domain
    self.path = path
    self.partition = partition
  }

  init(_ cookie: HTTPCookie) {
    let contents = cookie.contents
    self.init(
      name: contents.name, domain: contents.domain.lowercased(), path: contents.path, partition: contents.partition)
  }

  /// By octets: to Swift, an accented letter is the same text as its letter and accent. Equal octets have equal hashes.
  static func == (left: CookieIdentity, right: CookieIdentity) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.path.utf8.elementsEqual(right.path.utf8)
      && left.domain == right.domain && left.partition == right.partition
  }
}
