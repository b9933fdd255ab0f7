import Foundation

/// A folder beside a destination for what is not complete yet. Only this user can look into it.
struct HiddenFolder: Sendable {
  let path: String

  static func make(beside destination: Destination) throws -> HiddenFolder {
    var template = Array("\(destination.folder)/.urlsession-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CommandFailure.cannotWrite(destination.folder, String(cString: strerror(errno)))
    }
    return HiddenFolder(path: template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" })
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
