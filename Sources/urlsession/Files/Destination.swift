import Foundation

/// The place where a body is to end up: a file of the caller's choice, or a folder in which the server's name for it is
/// used.
struct Destination: Codable, Sendable, Equatable {
  /// Absolute.
  var path: String
  var isFolder: Bool
  /// Of a new file. The caller's umask is in it: the process that puts the file in place may have another one.
  var mode: UInt32

  init(path: String, isFolder: Bool, mode: UInt32 = Destination.usualMode) {
    self.path = path
    self.isFolder = isFolder
    self.mode = mode
  }

  /// The argument of `-o`; nil is the current folder.
  init(argument: String?, currentFolder: String = FileManager.default.currentDirectoryPath) throws {
    guard let argument else {
      self.init(path: try CommandPath.absolute(".", in: currentFolder), isFolder: true)
      try checkFolder()
      return
    }
    guard !argument.isEmpty else {
      throw CommandFailure(.usage, "-o was given an empty name", advice: "name a file or a folder")
    }
    let absolute = try CommandPath.absolute(argument, in: currentFolder)
    // A link is followed here, once, so that the file it names is replaced rather than the link.
    let path =
      Destination.kind(absolute) == S_IFREG
      ? Destination.resolved(absolute) ?? absolute : try Destination.missingFile(named: absolute)
    let isFolder = argument.hasSuffix("/") || Destination.kind(path) == S_IFDIR
    self.init(path: path, isFolder: isFolder)
    try checkFolder()
    guard isFolder || (path as NSString).lastPathComponent.utf8.count <= Destination.longestName(in: folder) else {
      throw CommandFailure(
        .cannotWrite, "\(path) can't be written: \(String(cString: strerror(ENAMETOOLONG)))",
        advice: "choose a shorter name with -o")
    }
    guard isFolder || Destination.canBeReplaced(path, in: folder) else {
      throw CommandFailure.cannotWrite(path, "it is another user's, and its folder lets only that user replace it")
    }
  }

  /// - Throws: `CommandFailure` where the folder takes no file.
  func checkFolder() throws {
    guard Destination.isFolder(folder) else {
      throw CommandFailure(
        .cannotWrite, "\(folder) is not a folder", advice: "make it first, or choose another with -o")
    }
    if let refusal = NewFileTrial.refusal(of: folder) { throw CommandFailure.cannotWrite(folder, refusal) }
  }

  /// The folder that the file is going to be in.
  var folder: String { isFolder ? path : (path as NSString).deletingLastPathComponent }

  /// Whether something is there that has no content to replace: a device, a pipe.
  static func isSpecialFile(_ path: String) -> Bool {
    guard let kind = kind(path) else { return false }
    return kind != S_IFREG && kind != S_IFDIR
  }

  static func isFolder(_ path: String) -> Bool { kind(path) == S_IFDIR }

  static func isSocket(_ path: String) -> Bool { kind(path) == S_IFSOCK }

  private static func kind(_ path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  /// True also where no file is there.
  private static func canBeReplaced(_ path: String, in folder: String) -> Bool {
    var (file, parent) = (stat(), stat())
    guard lstat(path, &file) == 0, stat(folder, &parent) == 0 else { return true }
    return !NewFileTrial.keepsFile(of: file.st_uid, folder: (parent.st_uid, parent.st_mode), user: geteuid())
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// The file that a link to a file that is not there leads to, over further such links; `path` itself where it is none.
  private static func missingFile(named path: String) throws -> String {
    var path = path
    // As many as the kernel follows.
    for _ in 0..<40 {
      guard kind(path) == nil, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
        return path
      }
      let link = (path as NSString).deletingLastPathComponent
      let full = target.hasPrefix("/") ? target : (resolved(link) ?? link) + "/" + target
      // `..` is what it is to the kernel: behind the links of the folder.
      let folder = (full as NSString).deletingLastPathComponent
      path = (resolved(folder) ?? folder) + "/" + (full as NSString).lastPathComponent
    }
    throw CommandFailure.cannotWrite(path, String(cString: strerror(ELOOP)))
  }

  /// In UTF-8 bytes.
  private static func longestName(in folder: String) -> Int {
    let longest = pathconf(folder, Int32(_PC_NAME_MAX))
    return longest > 0 ? longest : 255
  }

  static let usualMode: UInt32 = {
    let mask = umask(0o077)
    umask(mask)
    return 0o666 & ~UInt32(mask)
  }()
}
