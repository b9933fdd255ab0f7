import Foundation

extension DurableFileSystem {
  package func content(of path: String) throws -> Data? {
    do {
      let file = try SourceFile.open(path)
      var content = Data(count: Int(try file.regularStatus(path: path).st_size))
      let count = try content.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
      return content.prefix(count)
    } catch let error as SystemError where error.isNotFound { return nil }
  }

  /// The same, and nil also for a file that can't be read at any other time: the disk has lost it, or it is none. Throws what
  /// says nothing against the file, such as too many open files.
  package func readableContent(of path: String) throws -> Data? {
    do { return try content(of: path) } catch let error as SystemError
      where [EIO, EUCLEAN, EBADMSG, EISDIR, EINVAL, ELOOP].contains(error.code)
    {
      return nil
    }
  }
}
