import Foundation
import HTTPSemantics
import SystemServices

/// The file of known HSTS hosts. Several processes can use it at the same time: a change takes the lock `PATH.lock`, reads
/// the file again, and replaces it as a whole. It has mode 0600, since it tells which hosts were visited.
struct HSTSFile: Sendable {
  private static let calls = BlockingCalls(name: "hsts-file", width: 2)
  /// Above this it is not one of ours.
  private static let sizeLimit = 16 << 20

  private let file: ReplacedFile
  private let limit: Duration
  private let files = LinuxFileSystem()
  var path: String { file.path }

  /// - Parameter limit: For how long a call may wait: for other processes, and for the disk.
  init(path: String, limit: Duration = .seconds(10)) {
    file = ReplacedFile(path: path, limit: limit)
    self.limit = limit
  }

  /// In the folder in which the library keeps what belongs to the running app.
  static var ofApp: HSTSFile {
    HSTSFile(path: "\(UserDirectories.data())/\(AppFolder.library)/\(AppFolder.current)/hsts.json")
  }

  /// One content of the file. A change replaces the file, and so changes this.
  struct Version: Sendable, Equatable {
    /// nil where there is no file.
    private let number: ino_t?
    private let size: Int64
    private let changed: [Int]

    init(of path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else {
        (number, size, changed) = (nil, 0, [])
        return
      }
      (number, size, changed) = (status.st_ino, Int64(status.st_size), [status.st_mtim.tv_sec, status.st_mtim.tv_nsec])
    }
  }

  /// The result of a look at the file.
  enum Reading: Sendable {
    case unchanged
    /// It could not be read, or not in time.
    case unreadable
    /// The version is that of before, so that a change meanwhile is noticed later.
    case read(KnownHSTSHosts, Version)
  }

  /// Reads the file where it is not of the version that is known.
  func read(unless known: Version?) async -> Reading {
    let reading = try? await Self.calls.run(within: limit) { () -> Reading in
      let version = Version(of: path)
      if version == known { return .unchanged }
      return hosts().map { .read($0, version) } ?? .unreadable
    }
    return reading ?? .unreadable
  }

  /// The hosts of the file; none where it can't be read in time.
  func read() async -> KnownHSTSHosts {
    if case .read(let hosts, _) = await read(unless: nil) { hosts } else { KnownHSTSHosts() }
  }

  /// Changes the file. One that can't be written stays as it is: the hosts are known until the process ends.
  ///
  /// - Parameter isWanted: Whether the change still counts. Asked when the lock is there, and again just before the new file
  ///   takes the name: a disk may be slow.
  func change(
    while isWanted: @escaping @Sendable () -> Bool = { true },
    by body: @escaping @Sendable (inout KnownHSTSHosts) -> Void
  ) async {
    try? await Self.calls.run(within: limit) {
      try files.createDirectory(file.folder)
      try file.withLock {
        guard isWanted() else { return }
        var known = hosts() ?? KnownHSTSHosts()
        body(&known)
        try JSONEncoder().encode(known).withUnsafeBytes {
          try file.replace(with: $0) { if !isWanted() { throw Outdated() } }
        }
      }
    }
  }

  private struct Outdated: Error {}

  /// Removes the file. It waits for a process that is changing it, as long as a change may take.
  ///
  /// - Returns: false where it is still there: another process would bring it back, or the disk does not take the change.
  func remove() async -> Bool {
    let isRemoved = try? await Self.calls.run(within: limit * 2) {
      do {
        try file.withLock { try files.remove(path) }
      } catch let error as BlockingCalls.Expired {
        throw error
      } catch {
        // There is no lock without the folder, and none to be had where nothing can be written.
        try files.remove(path)
      }
      return true
    }
    return isRemoved ?? false
  }

  // MARK: On a thread of its own

  /// nil where they can't be read; none where there is no file.
  private func hosts() -> KnownHSTSHosts? {
    var status = stat()
    guard stat(path, &status) == 0 else { return errno == ENOENT ? KnownHSTSHosts() : nil }
    // A pipe would have the reader wait for its writer.
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.sizeLimit,
      let data = try? Data(contentsOf: URL(fileURLWithPath: path))
    else { return nil }
    return try? JSONDecoder().decode(KnownHSTSHosts.self, from: data)
  }
}
