import Foundation

/// Puts a complete file in its place: at once, or not at all.
///
/// A file that the caller named is replaced. A name that a server chose never replaces anything: a number is added to it
/// until it is free. Across file systems the content is copied to a hidden file beside the destination first.
/// The content and the name are on the disk when this returns.
enum FilePlacement {
  /// - Parameter willPlace: Told the final path before anything is there, so that whoever has to repeat this after a
  ///   crash can name the same one.
  /// - Returns: The final path.
  /// - Throws: `CommandFailure` with `cannotWrite`; the source is then still where it was.
  static func place(
    _ source: String, at destination: Destination, suggestedName: String?, willPlace: (String) throws -> Void = { _ in }
  ) throws -> String {
    guard destination.isFolder else {
      try willPlace(destination.path)
      try move(source, to: destination.path, mode: destination.mode)
      return destination.path
    }
    let path = try reserve(NumberedName.safe(suggestedName), in: destination)
    do {
      try willPlace(path)
      try move(source, to: path, mode: destination.mode)
    } catch {
      unlink(path)
      throw error
    }
    return path
  }

  /// Makes an empty file with the first free name.
  private static func reserve(_ name: String, in destination: Destination) throws -> String {
    let folder = destination.path
    for number in 0..<10_000 {
      let path = folder + "/" + NumberedName.name(name, number: number)
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if descriptor >= 0 {
        fchmod(descriptor, mode_t(destination.mode))
        close(descriptor)
        return path
      }
      let code = errno
      guard code == EEXIST else { throw failure(path, code) }
    }
    throw CommandFailure.cannotWrite("\(folder)/\(name)", "ten thousand files have that name already")
  }

  private static func move(_ source: String, to path: String, mode: UInt32) throws {
    guard !Destination.isSpecialFile(path) else { throw CommandFailure.cannotWrite(path, "it is not a file") }
    let input = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else { throw failure(source, errno) }
    defer { close(input) }
    let mode = existingMode(path) ?? mode
    if fchmod(input, mode_t(mode)) == 0, fsync(input) == 0, rename(source, path) == 0 {
      syncFolder(of: path)
      return
    }
    guard errno == EXDEV else { throw failure(path, errno) }
    try copy(input, to: path, mode: mode)
    syncFolder(of: path)
    unlink(source)
  }

  private static func copy(_ input: Int32, to path: String, mode: UInt32) throws {
    var template = Array("\((path as NSString).deletingLastPathComponent)/.urlsession-XXXXXX".utf8CString)
    let output = mkstemp(&template)
    guard output >= 0 else { throw failure(path, errno) }
    defer { close(output) }
    do {
      while true {
        let count = sendfile(output, input, nil, 8 << 20)
        if count == 0 { break }
        if count < 0, errno != EINTR { throw failure(path, errno) }
      }
      guard fchmod(output, mode_t(mode)) == 0, fsync(output) == 0, rename(template, path) == 0 else {
        throw failure(path, errno)
      }
    } catch {
      unlink(template)
      throw error
    }
  }

  /// A replaced file keeps who may read it.
  private static func existingMode(_ path: String) -> UInt32? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return UInt32(status.st_mode & 0o777)
  }

  private static func syncFolder(of path: String) {
    let descriptor = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }

  private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
    CommandFailure.cannotWrite(path, String(cString: strerror(code)))
  }
}
