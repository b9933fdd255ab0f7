import Foundation
import SystemServices
import URLLoadingSystem

/// The file of `get --cookie-jar`: its cookies are sent, and those that servers set are written to it.
struct CookieJarFile {
  let storage = HTTPCookieStorage()
  private let path: String
  private let original: String

  /// Reads the file. One that does not exist has no cookies.
  init(reading path: String) throws(CommandFailure) {
    self.path = path
    guard FileManager.default.fileExists(atPath: path) else {
      original = storage.netscapeFile
      return
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandFailure(.usage, "\(path) can't be read", advice: "check the path and its permissions")
    }
    let text = String(decoding: data, as: UTF8.self)
    guard storage.add(netscapeFile: text) > 0 || CookieJarFile.isEmpty(text) else {
      throw CommandFailure(
        .usage, "\(path) is no cookie file", advice: "give a file in Netscape's format, or one that does not exist")
    }
    original = storage.netscapeFile
  }

  /// Comments alone make an empty file, which may be written to.
  private static func isEmpty(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).allSatisfy { $0.hasPrefix("#") || $0.allSatisfy(\.isWhitespace) }
  }

  /// Replaces the file at once, with mode 0600, where cookies have changed.
  func write() throws(CommandFailure) {
    let text = storage.netscapeFile
    guard text != original else { return }
    do { try PrivateFile.replace(path, with: Array(text.utf8)) } catch {
      throw CommandFailure(
        .cannotWrite, "\(path) can't be written: \(error)", advice: "choose another place with --cookie-jar")
    }
  }
}
