import Foundation
import SystemServices

/// How the credentials of a space are found in the keychain.
///
/// Of a space with several users a second item without a secret says which is the default one: its attributes are those
/// of the space with another protocol, so that a look for credentials does not find it.
extension SecretAttributes {
  /// Those of every credential of a space; nil for spaces whose credentials are no passwords.
  init?(_ space: URLProtectionSpace) {
    guard
      ![NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
        .contains(space.authenticationMethod)
    else { return nil }
    // Equal spaces have equal attributes.
    let identity = space.canonical
    self.init([
      .server: identity.host, .port: String(identity.port), .protocol: identity.scheme ?? "",
      .realm: identity.realm ?? "", .authentication: identity.authenticationMethod,
      .proxyType: identity.proxyType ?? "",
    ])
  }

  private static let mark = "default-of:"

  /// The same without the user: those of the whole space.
  var ofSpace: SecretAttributes {
    var space = SecretAttributes()
    for name in SecretAttributes.Name.allCases where name != .user { space[name] = self[name] ?? "" }
    return space
  }

  /// Those of the item that names the default user of the space; nil finds it with any user.
  func markOfDefault(_ user: String?) -> SecretAttributes {
    var mark = ofSpace
    mark[.protocol] = SecretAttributes.mark + (self[.protocol] ?? "")
    mark[.user] = user
    return mark
  }

  /// The space of which the item names the default user; nil for other items.
  var spaceOfMark: SecretAttributes? {
    guard let text = self[.protocol], text.hasPrefix(SecretAttributes.mark) else { return nil }
    var space = ofSpace
    space[.protocol] = String(text.dropFirst(SecretAttributes.mark.count))
    return space
  }
}

extension URLProtectionSpace {
  /// The space of a credential in the keychain; nil for secrets of another kind.
  convenience init?(_ attributes: SecretAttributes) {
    guard let host = attributes[.server], !host.isEmpty, let port = attributes[.port].flatMap({ Int($0) }),
      let method = attributes[.authentication], !method.isEmpty, attributes.spaceOfMark == nil
    else { return nil }
    func present(_ name: SecretAttributes.Name) -> String? { attributes[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let type = present(.proxyType) {
      self.init(proxyHost: host, port: port, type: type, realm: present(.realm), authenticationMethod: method)
    } else {
      self.init(
        host: host, port: port, protocol: present(.protocol), realm: present(.realm), authenticationMethod: method)
    }
  }
}
