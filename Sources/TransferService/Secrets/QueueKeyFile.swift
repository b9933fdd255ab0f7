import Crypto
import Foundation
import SystemServices
import TransferProtocol

/// The key of a queue in a file that only its user can read: for machines without a keychain. It protects copies of the
/// queue that are made without it, and no more.
struct QueueKeyFile: Sendable {
  let path: String
  let length: Int

  enum Content {
    case key(SymmetricKey)
    /// There is no such file.
    case missing
    /// It is shorter than a key.
    case damaged
  }

  struct Unusable: Error, CustomStringConvertible {
    let path: String
    var description: String { "\(path) is no file of this user" }
  }

  /// Throws where it can't be read now, which may pass.
  ///
  /// - Parameter closed: called when others could have read or written it, which is ended; with the permissions that it had.
  func load(closed: (mode_t) -> Void = { _ in }) throws -> Content {
    guard let descriptor = try open(closed) else { return .missing }
    defer { Foundation.close(descriptor) }
    let status = try ownStatus(descriptor)
    if status.st_mode & 0o077 != 0 {
      guard fchmod(descriptor, 0o600) == 0 else { throw SystemError(errno, "chmod", path: path) }
      closed(status.st_mode & 0o7777)
    }
    var bytes = [UInt8](repeating: 0, count: length)
    defer { bytes.resetBytes() }
    var count = 0
    while count < length {
      let new = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress.map { $0 + count }, length - count) }
      if new == 0 { return .damaged }
      if new > 0 { count += new } else if errno != EINTR { throw SystemError(errno, "read", path: path) }
    }
    return .key(SymmetricKey(data: bytes))
  }

  /// nil when there is none.
  private func open(_ closed: (mode_t) -> Void) throws -> Int32? {
    func tried() -> Int32 { Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    var descriptor = tried()
    if descriptor < 0, errno == EACCES {
      // Its user may have taken the right to read it from all, or the folder is closed.
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
        status.st_mode & 0o400 == 0, chmod(path, 0o600) == 0
      else { throw SystemError(EACCES, "open", path: path) }
      closed(status.st_mode & 0o7777)
      descriptor = tried()
    }
    if descriptor >= 0 { return descriptor }
    if errno == ENOENT { return nil }
    throw SystemError(errno, "open", path: path)
  }

  private func ownStatus(_ descriptor: Int32) throws -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemError(errno, "stat", path: path) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else { throw Unusable(path: path) }
    return status
  }

  /// Makes a new one, on the disk when this returns. A damaged one keeps its content under another name.
  func make() throws -> SymmetricKey {
    let disk = LinuxFileSystem()
    if try disk.size(of: path) != nil { try disk.rename(path, to: path + ".damaged") }
    let made = SymmetricKey(size: SymmetricKeySize(bitCount: length * 8))
    try disk.replace(path) { file in try made.withUnsafeBytes { try file.write($0, at: 0) } }
    return made
  }

  // MARK: A key that is missing

  /// When that was noticed first, so that the time outlives the service.
  private var notePath: String { path + ".missing" }

  /// Seconds since it was noticed that the key is missing. Notes it the first time.
  func missingTime(clock: any ServiceClock, limit: TimeInterval) -> TimeInterval {
    let disk = LinuxFileSystem()
    if let content = try? disk.content(of: notePath),
      let since = try? MessageFraming.decode(DurableInstant.self, from: content)
    {
      return clock.now - since.instant(on: clock, past: limit, future: 0)
    }
    try? disk.replace(notePath) { file in
      let since = try MessageFraming.encode(DurableInstant(clock.now, clock: clock))
      try since.withUnsafeBytes { try file.write($0, at: 0) }
    }
    return 0
  }

  func forgetMissingTime() {
    if access(notePath, F_OK) == 0 { try? LinuxFileSystem().remove(notePath) }
  }
}

extension [UInt8] {
  fileprivate mutating func resetBytes() {
    for index in indices { self[index] = 0 }
  }
}
