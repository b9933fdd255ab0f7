import Foundation

/// What was done to a disk and would not survive the power going: content that was not synced, and names in folders that
/// were not. Removals count as done at once.
struct UnsyncedChanges: Sendable {
  private struct FileKey: Hashable {
    let device: dev_t
    let inode: ino_t
  }

  private struct Content {
    /// Stays good whatever the file is called by then.
    let descriptor: Descriptor
    let durableSize: Int64
    /// Durable bytes as they were before each change.
    var overwritten: [(offset: Int64, bytes: [UInt8])] = []
  }

  private enum Name {
    case made(String)
    /// With the content of the file that was replaced.
    case moved(from: String, to: String, replaced: Data?)
  }

  private var contents: [FileKey: Content] = [:]
  private var names: [Name] = []

  // MARK: Content

  mutating func willWrite(_ path: String, _ range: Range<Int64>) { note(path) { _ in range } }

  mutating func willTruncate(_ path: String, to size: Int64) { note(path) { size..<max(size, $0) } }

  mutating func synced(_ path: String) {
    if let (key, _) = UnsyncedChanges.look(at: path) { contents[key] = nil }
  }

  /// - Parameter range: The bytes that change, told the file's size.
  private mutating func note(_ path: String, _ range: (Int64) -> Range<Int64>) {
    guard let (key, size) = UnsyncedChanges.look(at: path) else { return }
    if contents[key] == nil {
      let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else { return }
      contents[key] = Content(descriptor: Descriptor(descriptor), durableSize: size)
    }
    guard let content = contents[key] else { return }
    let lost = range(size).clamped(to: 0..<min(size, content.durableSize))
    guard !lost.isEmpty else { return }
    var bytes = [UInt8](repeating: 0, count: lost.count)
    let count = pread(content.descriptor.number, &bytes, bytes.count, off_t(lost.lowerBound))
    contents[key]?.overwritten.append((lost.lowerBound, Array(bytes.prefix(max(0, count)))))
  }

  private static func look(at path: String) -> (FileKey, size: Int64)? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return (FileKey(device: status.st_dev, inode: status.st_ino), Int64(status.st_size))
  }

  // MARK: Names

  mutating func made(_ path: String) { names.append(.made(path)) }

  /// - Parameter replaced: the content of the file that was at `destination` before; nil when there was none.
  mutating func moved(_ source: String, to destination: String, replaced: Data?) {
    names.append(.moved(from: source, to: destination, replaced: replaced))
  }

  mutating func removed(_ path: String) {
    names.removeAll {
      switch $0 {
      case .made(let made): made == path
      case .moved(_, let destination, _): destination == path
      }
    }
  }

  /// A move is durable once the folder is that it led to.
  mutating func syncedDirectory(_ directory: String) {
    // A path may have a slash twice.
    let folder = ("\(directory)/name" as NSString).deletingLastPathComponent
    names.removeAll {
      switch $0 {
      case .made(let path), .moved(_, let path, _): (path as NSString).deletingLastPathComponent == folder
      }
    }
  }

  // MARK: The power goes

  mutating func lose() {
    for content in contents.values {
      let file = content.descriptor.number
      _ = ftruncate(file, off_t(content.durableSize))
      for change in content.overwritten.reversed() {
        _ = change.bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, off_t(change.offset)) }
      }
    }
    for name in names.reversed() {
      switch name {
      case .made(let path): unlink(path)
      case .moved(let source, let destination, let replaced):
        rename(destination, source)
        if let replaced {
          _ = FileManager.default.createFile(
            atPath: destination, contents: replaced, attributes: [.posixPermissions: 0o600])
        }
      }
    }
    contents = [:]
    names = []
  }

  private final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }
  }
}
