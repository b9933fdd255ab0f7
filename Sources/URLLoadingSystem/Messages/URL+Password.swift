import Foundation
import TransferProtocol

extension URL {
  /// The URL as texts show it that may end up in a log: without a password. The user's name stays.
  package var withoutPassword: URL {
    let text = absoluteString
    guard text.utf8.contains(UInt8(ascii: "@")) else { return self }
    let parts = PasswordURL(text)
    return parts.password == nil ? self : URL(string: parts.url) ?? self
  }
}
