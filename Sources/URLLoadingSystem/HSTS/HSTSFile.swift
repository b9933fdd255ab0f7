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

  private let file: ReplacedFile
  private let files = LinuxFileSystem()
  private var path: String { file.path }

  init(path: String) { file = ReplacedFile(path: path, limit: Self.limit) }

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
      try files.createDirectory(file.folder)
      try file.withLock {
        var known = hosts()
        body(&known)
        try JSONEncoder().encode(known).withUnsafeBytes { try file.replace(with: $0) }
      }
    }
  }

  /// Removes the file. It waits for a process that is changing it, as long as a change may take.
  func remove() async {
    try? await Self.calls.run(within: Self.limit * 2) {
      do { try file.withLock { try files.remove(path) } } catch { try files.remove(path) }
    }
  }

  // MARK: On a thread of its own

  private func hosts() -> KnownHSTSHosts {
    guard let size = try? files.size(of: path), size <= Self.sizeLimit,
      let data = try? Data(contentsOf: URL(fileURLWithPath: path)),
      let known = try? JSONDecoder().decode(KnownHSTSHosts.self, from: data)
    else { return KnownHSTSHosts() }
    return known
  }
}
