import Foundation
import HTTPSemantics

extension URLCredential {
  /// The user name and password that stand in a URL; nil without a user name. One without a password proposes a name.
  convenience init?(in url: URL?) {
    guard let (user, password) = URLCredential.user(in: url) else { return nil }
    self.init(user: user, password: password, persistence: .forSession)
  }

  private static func user(in url: URL?) -> (name: String, password: String?)? {
    guard let url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let user = parts.user,
      !user.isEmpty || parts.password != nil
    else { return nil }
    return (user, parts.password)
  }

  /// Whether a request for a URL that names a user may carry this credential: it is that user's, with the password that the
  /// URL names, if it names one.
  func isUser(in url: URL?) -> Bool {
    guard let (name, named) = URLCredential.user(in: url) else { return true }
    var password = named
    guard user == name else { return false }
    return password == nil || withPassword { own in password?.withUTF8 { own.elementsEqual($0) } ?? false }
  }

  /// Whether both hold the same user name, and the same password where this one has one.
  func isSameUser(as other: URLCredential) -> Bool {
    guard user == other.user else { return false }
    return !hasPassword || withPassword { own in other.withPassword { own.elementsEqual($0) } }
  }
}
