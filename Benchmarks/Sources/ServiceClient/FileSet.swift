import Foundation
import Harness

/// The files that are downloaded: `count` of the server's folder, or the one that the URL names.
struct FileSet {
  private let assignment: Assignment
  let names: [String]

  init(_ assignment: Assignment) {
    self.assignment = assignment
    names =
      assignment.count == 1
      ? [assignment.url.lastPathComponent] : (0..<assignment.count).map { String(format: "%04d", $0) }
  }

  func url(_ name: String) -> URL { names.count == 1 ? assignment.url : assignment.url.appendingPathComponent(name) }

  /// Of what a rate counts: files, or 10⁶ bytes of one.
  var amount: Double { names.count == 1 ? Double(assignment.bytes) / 1e6 : Double(names.count) }

  /// Ends the process unless the folder has all of them as the server has them, by their SHA-256.
  func check(in folder: String) throws {
    func sums(_ folder: String) throws -> Data {
      let list = FileManager.default.temporaryDirectory.path + "/names-\(getpid())"
      try names.joined(separator: "\0").write(toFile: list, atomically: false, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: list) }
      return try RunningProgram(
        "/bin/sh", ["-c", #"cd "$1" && exec xargs -0 -a "$2" sha256sum"#, "sh", folder, list]
      ).answer()
    }
    guard try sums(folder) == sums(assignment.source) else { fail("the files are not those of the server") }
  }
}
