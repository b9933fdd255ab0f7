import Crypto
import Foundation
import SystemServices

/// The key of a queue in a file that only its user can read: for machines without a keychain. It protects copies of the
/// queue that are made without it, and no more.
struct QueueKeyFile: Sendable {
  let path: String
  let length: Int

  struct Unusable: Error, CustomStringConvertible {
    let path: String
    var description: String { "\(path) is no key that only this user can read" }
  }

  /// nil when there is none. Throws where it can't be read, or others could have read or written it.
  func load() throws -> SymmetricKey? {
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw SystemError(errno, "open", path: path)
    }
    defer { Foundation.close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_mode & 0o077 == 0
    else { throw Unusable(path: path) }
    var bytes = [UInt8](repeating: 0, count: length)
    defer { bytes.resetBytes() }
    guard bytes.withUnsafeMutableBytes({ read(descriptor, $0.baseAddress, length) }) == length else {
      throw Unusable(path: path)
    }
    return SymmetricKey(data: bytes)
  }

  /// Makes it, on the disk when this returns, where there is none.
  func loadOrMake() throws -> SymmetricKey {
    if let known = try load() { return known }
    let made = SymmetricKey(size: SymmetricKeySize(bitCount: length * 8))
    try LinuxFileSystem().replace(path) { file in try made.withUnsafeBytes { try file.write($0, at: 0) } }
    return made
  }
}

extension [UInt8] {
  fileprivate mutating func resetBytes() {
    for index in indices { self[index] = 0 }
  }
}
