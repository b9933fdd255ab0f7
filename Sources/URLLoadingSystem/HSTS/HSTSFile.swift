import Foundation
import HTTPSemantics
import SystemServices

/// The file of known HSTS hosts. Several processes can use it at the same time: a change takes the lock `PATH.lock`, reads
/// the file again, and replaces it as a whole. It has mode 0600, since it tells which hosts were visited.
struct HSTSFile: Sendable {
  private static let calls = BlockingCalls(name: "hsts-file", width: 2)
  private static let limit = Duration.seconds(10)
  /// Above this it is not one of ours.
  private static let sizeLimit = 16 << 20

  private let path: String
  private let files = LinuxFileSystem()

  init(path: String) { self.path = path }

  /// In the folder in which the library keeps what belongs to the running app.
  static var ofApp: HSTSFile {
    HSTSFile(path: "\(UserDirectories.data())/\(AppFolder.library)/\(AppFolder.current)/hsts.json")
  }

  /// The hosts of the file; none where it can't be read in time.
  func read() async -> KnownHSTSHosts {
    (try? await Self.calls.run(within: Self.limit) { hosts() }) ?? KnownHSTSHosts()
  }

  /// Changes the file. One that can't be written stays as it is: the hosts are known until the process ends.
  func change(_ body: @escaping @Sendable (inout KnownHSTSHosts) -> Void) async {
    try? await Self.calls.run(within: Self.limit) {
      try files.createDirectory(folder)
      guard let lock = try takeLock() else { return }
      try withExtendedLifetime(lock) {
        var known = hosts()
        body(&known)
        try replace(with: JSONEncoder().encode(known))
      }
    }
  }

  /// Removes the file. It waits for a process that is changing it, as long as a change may take.
  func remove() async {
    try? await Self.calls.run(within: Self.limit * 2) {
      let lock = try? takeLock()
      try withExtendedLifetime(lock) { try files.remove(path) }
    }
  }

  // MARK: On a thread of its own

  private var folder: String { (path as NSString).deletingLastPathComponent }

  private func hosts() -> KnownHSTSHosts {
    guard let size = try? files.size(of: path), size <= Self.sizeLimit,
      let data = try? Data(contentsOf: URL(fileURLWithPath: path)),
      let known = try? JSONDecoder().decode(KnownHSTSHosts.self, from: data)
    else { return KnownHSTSHosts() }
    return known
  }

  /// The kernel's own wait for a lock has no time limit, so the lock is tried again and again. nil past the limit.
  private func takeLock() throws -> FileLock? {
    let end = ContinuousClock.now + Self.limit
    while ContinuousClock.now < end {
      if let lock = try FileLock.acquire(path + ".lock") { return lock }
      usleep(2000)
    }
    return nil
  }

  private func replace(with data: Data) throws {
    let new = path + ".new"
    // Left behind by a process that was killed.
    try files.remove(new)
    let file = try files.open(new)
    do {
      try data.withUnsafeBytes { try file.write($0, at: 0) }
      try file.sync()
    } catch {
      try? file.close()
      try? files.remove(new)
      throw error
    }
    try file.close()
    try files.rename(new, to: path)
    try files.syncDirectory(folder)
  }
}
