import Foundation

extension DurableFileSystem {
  /// Puts a new file in the place of the one at `path`: it is on the disk before it has the name, which the old one keeps
  /// until then.
  ///
  /// - Parameter write: writes all of the new file. When it throws, the old file stays.
  package func replace(_ path: String, unless check: () throws -> Void = {}, write: (any DurableFile) throws -> Void)
    throws
  {
    let new = path + ".new"
    // Left behind by a process that was killed.
    try remove(new)
    let file = try open(new)
    do {
      try write(file)
      try file.sync()
    } catch {
      try? file.close()
      try? remove(new)
      throw error
    }
    try file.close()
    do { try check() } catch {
      try? remove(new)
      throw error
    }
    try rename(new, to: path)
    try syncDirectory((path as NSString).deletingLastPathComponent)
  }
}
