import ArgumentParser
import Foundation
import URLLoadingSystem

/// The options about the file that a download must bring.
struct ExpectationOptions: ParsableArguments {
  @Option(
    name: .customLong("sha256"),
    help: ArgumentHelp("Keep only a file with this SHA-256, in hexadecimal as sha256sum prints it.", valueName: "hash"),
    transform: ExpectationOptions.digest)
  var digest: String?

  @Option(help: ArgumentHelp("Keep only a file of this many bytes.", valueName: "bytes"))
  var size: Int64?

  func validate() throws {
    if let size, size < 0 { throw ValidationError("a file has 0 bytes or more") }
  }

  /// nil where any file will do.
  var expected: ExpectedContent? {
    if let digest { return ExpectedContent(sha256: digest, byteCount: size) }
    return size.flatMap { ExpectedContent(byteCount: $0) }
  }

  private static func digest(_ text: String) throws -> String {
    guard ExpectedContent(sha256: text) != nil else {
      throw ValidationError("A SHA-256 is 64 hexadecimal digits, as sha256sum prints them.")
    }
    return text
  }
}
