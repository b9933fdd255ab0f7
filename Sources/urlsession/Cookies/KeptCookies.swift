import Foundation
import URLLoadingSystem

/// The cookies of one app on the disk.
struct KeptCookies {
  /// The name of its folder.
  let app: String
  let path: String
  let storage: HTTPCookieStorage

  /// Those of every app of this user that keeps any, in the order of their names.
  static func all() -> [KeptCookies] {
    HTTPCookieStorage.keptDirectories.map { app, path in
      KeptCookies(app: app, path: path, storage: HTTPCookieStorage(directory: path))
    }
  }
}
