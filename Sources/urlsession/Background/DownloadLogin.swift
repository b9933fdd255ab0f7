import Foundation
import SystemServices
import URLLoadingSystem

/// The user name and password that a background download is to use at its server, kept in the user's keychain until the
/// download is over: the process that the server's question reaches may be another one than the one that was told.
struct DownloadLogin: Sendable {
  let user: String
  let password: SecretBytes
  let url: URL

  /// - Returns: Whether there is a store that took it.
  func keep(session: String) async -> Bool {
    guard let store = await UserSecrets.store() else { return false }
    do {
      try await store.store(password, for: attributes(session))
      return true
    } catch { return false }
  }

  private func attributes(_ session: String) -> SecretAttributes {
    var attributes = DownloadLogin.query(session)
    attributes[.server] = url.host
    attributes[.user] = user
    return attributes
  }

  /// The login of a download that another process began; nil where none was kept or the store can't be read.
  static func read(session: String, url: URL) async -> DownloadLogin? {
    guard let store = await UserSecrets.store(asksUser: false), let item = try? await store.find(query(session)).first,
      item.attributes[.server] == url.host, let user = item.attributes[.user]
    else { return nil }
    return DownloadLogin(user: user, password: item.secret, url: url)
  }

  static func remove(session: String) async {
    _ = try? await UserSecrets.store(asksUser: false)?.remove(query(session))
  }

  private static func query(_ session: String) -> SecretAttributes {
    SecretAttributes([.protocol: "urlsession-download", .realm: session])
  }
}
