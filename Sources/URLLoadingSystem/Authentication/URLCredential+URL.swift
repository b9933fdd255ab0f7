import Foundation
import HTTPSemantics

extension URLCredential {
  /// The user name and password that stand in a URL; nil without a user name. One without a password proposes a name.
  convenience init?(in url: URL?) {
    guard let url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let user = parts.user,
      !user.isEmpty || parts.password != nil
    else { return nil }
    self.init(user: user, password: parts.password, persistence: .forSession)
  }

  /// Whether both hold the same user name, and the same password where this one has one.
  func isSameUser(as other: URLCredential) -> Bool {
    guard user == other.user else { return false }
    return !hasPassword || withPassword { own in other.withPassword { own.elementsEqual($0) } }
  }
}
