import Foundation
import URLLoadingSystem

/// Changes a store of cookies until it is killed: `store-app cookies FOLDER NAME START`. It counts from START, and prints
/// each number once it is on the disk.
@main
enum StoreApp {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, arguments[1] == "cookies", var number = Int(arguments[4]) else {
      print("usage: store-app cookies FOLDER NAME START")
      exit(64)
    }
    let storage = HTTPCookieStorage(directory: arguments[2])
    while true {
      number += 1
      // Two cookies with one value: a reader that finds them apart has found half of a change.
      let cookies = ["left", "right"].compactMap { half in
        HTTPCookie(properties: [
          .name: arguments[3] + half, .value: "\(number)", .domain: "example.com", .path: "/",
          .expires: Date(timeIntervalSinceNow: 1_000),
        ])
      }
      storage.setCookies(cookies, for: nil, mainDocumentURL: nil)
      guard await storage.isWritten() else { exit(1) }
      print(number)
      fflush(nil)
    }
  }
}
