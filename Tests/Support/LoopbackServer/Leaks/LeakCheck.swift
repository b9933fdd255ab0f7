import Foundation

/// What a descriptor of this process refers to.
package struct OpenDescriptor: Sendable, Hashable, CustomStringConvertible {
  package enum Kind: Sendable { case socket, pipe, file, anonymous, other }

  package let number: Int
  /// What the kernel says it is: a path, `socket:[1234]`, `pipe:[1234]`, `anon_inode:[eventpoll]`.
  package let target: String

  package var kind: Kind {
    if target.hasPrefix("socket:") { return .socket }
    if target.hasPrefix("pipe:") { return .pipe }
    if target.hasPrefix("anon_inode:") { return .anonymous }
    // memfd and deleted files keep a path.
    return target.hasPrefix("/") ? .file : .other
  }

  package var description: String { "\(number) → \(target)" }
}

/// The open descriptors of this process, for tests that prove that nothing leaked.
///
/// Suites run side by side in one process: compare descriptors only in a serialized suite that runs alone, or ask only
/// for files below a folder of the test's own.
package enum LeakCheck {
  /// Every open descriptor, by number.
  package static func openDescriptors() throws -> [OpenDescriptor] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      .compactMap { Int($0) }.sorted()
      // The listing's own descriptor is closed by now and has no target any more.
      .compactMap { number in
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)") else {
          return nil
        }
        return OpenDescriptor(number: number, target: target)
      }
  }

  /// How many descriptors of each kind are open.
  package static func counts() throws -> [OpenDescriptor.Kind: Int] {
    try openDescriptors().reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }
  }

  /// The open files whose path begins with `folder`, deleted ones included.
  package static func openFiles(below folder: String) throws -> [OpenDescriptor] {
    try openDescriptors().filter { $0.kind == .file && $0.target.hasPrefix(folder) }
  }
}

extension LoopbackServer {
  /// Returns when this server sees every connection closed; throws ``WaitExpired`` when one stays open. The last line
  /// of a test that has ended its session: waits for the event, not for time to pass.
  package func expectNoOpenConnections(within limit: Duration = patience) async throws {
    try await waitForOpenConnections(0, within: limit)
  }
}
