import Foundation

/// A folder beside a destination for what is not complete yet. Only this user can look into it.
struct HiddenFolder: Sendable {
  let path: String

  static func make(beside destination: Destination) throws -> HiddenFolder {
    var template = HiddenName.template(in: destination.folder)
    guard mkdtemp(&template) != nil else {
      throw CommandFailure.cannotWrite(destination.folder, String(cString: strerror(errno)))
    }
    return HiddenFolder(path: HiddenName.path(template))
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
