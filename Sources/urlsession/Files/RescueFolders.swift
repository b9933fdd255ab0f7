import Foundation

/// The folders to which a complete download goes when its destination can't take it, in this order.
enum RescueFolders {
  static func candidates(
    environment: [String: String] = ProcessInfo.processInfo.environment, state: String
  ) -> [String] {
    var folders: [String] = []
    if let folder = environment["XDG_DOWNLOAD_DIR"], folder.hasPrefix("/") { folders.append(folder) }
    if let home = environment["HOME"], home.hasPrefix("/") { folders.append(home + "/Downloads") }
    folders = folders.filter { folder in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) && isFolder.boolValue
    }
    // Ours, and made when needed.
    return folders + [state + "/rescued"]
  }
}
