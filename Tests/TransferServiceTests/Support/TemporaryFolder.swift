import Foundation
import SystemServices

/// A folder for one test, closed to other users and removed with its owner.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    var template = Array("\(NSTemporaryDirectory())/transfer-service-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError(errno, "mkdtemp") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
