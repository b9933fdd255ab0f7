import Foundation

/// Puts a complete file in its place: at once, or not at all.
///
/// A file that the caller named is replaced. A name that a server chose never replaces anything: a number is added to
/// it until it is free. Across file systems the content is copied to a hidden file beside the destination first. The
/// content and the name are on the disk when this returns.
enum FilePlacement {
  /// - Parameters:
  ///   - begun: The final path that was told before a crash. It is used when it is still free, or when what is there is
  ///     this very content; otherwise another program has taken it.
  ///   - willPlace: Told the final path before anything is there, so that a process that repeats this after a crash can
  ///     name the same one. Told another one when another program was faster.
  /// - Returns: The final path.
  /// - Throws: `CommandFailure` with `cannotWrite`; the source is then still where it was.
  static func place(
    _ source: String, at destination: Destination, suggestedName: String?, begun: String? = nil,
    willPlace: (String) throws -> Void = { _ in }
  ) throws -> String {
    guard destination.isFolder else {
      try willPlace(destination.path)
      try move(source, to: destination.path, mode: destination.mode)
      return destination.path
    }
    if let begun, isRegular(begun), FileManager.default.contentsEqual(atPath: source, andPath: begun) {
      try willPlace(begun)
      unlink(source)
      return begun
    }
    return try moveToFreeName(
      source, in: destination, name: NumberedName.safe(suggestedName), begun: begun, willPlace: willPlace)
  }

  /// Gives the file the first name that is free, without ever showing anything less than the file under it.
  private static func moveToFreeName(
    _ source: String, in destination: Destination, name: String, begun: String?, willPlace: (String) throws -> Void
  ) throws -> String {
    let folder = destination.path
    let input = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else { throw failure(source, errno) }
    defer { close(input) }
    guard fchmod(input, mode_t(destination.mode)) == 0, fsync(input) == 0 else { throw failure(source, errno) }
    // The file that gets the name: the file, or a hidden copy of it on the folder's file system.
    var piece = source
    defer { if piece != source { unlink(piece) } }
    for number in -1..<10_000 {
      // Before all numbers, what was begun.
      guard let path = number < 0 ? begun : folder + "/" + NumberedName.name(name, number: number) else { continue }
      var status = stat()
      // The kernel has the last word below; this only keeps names from being told that are taken.
      guard lstat(path, &status) != 0 else { continue }
      try willPlace(path)
      var code = giveName(path, to: piece)
      if code == EXDEV, piece == source {
        piece = try copy(input, besides: path, mode: destination.mode)
        code = giveName(path, to: piece)
      }
      if code == EEXIST { continue }
      guard code == 0 else { throw failure(path, code) }
      syncFolder(of: path)
      unlink(source)
      return path
    }
    throw CommandFailure.cannotWrite("\(folder)/\(name)", "ten thousand files have that name already")
  }

  /// Names the file so, unless something has that name. Returns 0 or the reason why not.
  private static func giveName(_ path: String, to file: String) -> Int32 {
    if link(file, path) == 0 {
      unlink(file)
      return 0
    }
    let code = errno
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(code) else { return code }
    // A file system without links: the name is reserved by an empty file, which a crash right here would leave.
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return errno }
    close(descriptor)
    if rename(file, path) == 0 { return 0 }
    let reason = errno
    unlink(path)
    return reason
  }

  private static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
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
    let hidden = try copy(input, besides: path, mode: mode)
    guard rename(hidden, path) == 0 else {
      let code = errno
      unlink(hidden)
      throw failure(path, code)
    }
    syncFolder(of: path)
    unlink(source)
  }

  /// Makes a hidden copy in the folder of `path`, on the disk when this returns. Returns its path.
  private static func copy(_ input: Int32, besides path: String, mode: UInt32) throws -> String {
    var template = HiddenName.template(in: (path as NSString).deletingLastPathComponent)
    let output = mkstemp(&template)
    guard output >= 0 else { throw failure(path, errno) }
    defer { close(output) }
    let hidden = HiddenName.path(template)
    do {
      while true {
        let count = sendfile(output, input, nil, 8 << 20)
        if count == 0 { break }
        if count < 0, errno != EINTR { throw failure(path, errno) }
      }
      guard fchmod(output, mode_t(mode)) == 0, fsync(output) == 0 else { throw failure(path, errno) }
      return hidden
    } catch {
      unlink(hidden)
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
