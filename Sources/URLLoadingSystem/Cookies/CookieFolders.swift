import Foundation
import SystemServices

/// The folders of the stores that are on the disk.
enum CookieFolders {
  private static var library: String { UserDirectories.data() + "/" + AppFolder.library }

  /// That of the running program.
  static var ofApp: String { library + "/apps/" + AppFolder.current }

  /// The name and the folder of every app of this user that has one.
  static var all: [(app: String, directory: String)] {
    let apps = library + "/apps"
    let names = (try? LinuxFileSystem().names(in: apps)) ?? []
    return names.map { (app: $0, directory: apps + "/" + $0) }.filter {
      FileManager.default.fileExists(atPath: $0.directory + "/" + CookieFile.name)
    }
  }

  /// That of an app group. An identifier may be any text, so characters of other than plain names are written as their
  /// numbers.
  static func ofGroup(_ identifier: String) -> String {
    let name = identifier.utf8.map { byte -> String in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        String(UnicodeScalar(byte))
      case UInt8(ascii: "."): "."
      default: "%" + String(byte, radix: 16)
      }
    }
    // The sign in front keeps "." and ".." from being folders above.
    return library + "/groups/group-" + name.joined().prefix(200)
  }
}
