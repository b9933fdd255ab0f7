import Foundation
import SystemServices
import TransferProtocol

/// A file beside the socket that says which folder has the queue, from the start of a service to its orderly end. Where that
/// folder is missing when the next service starts, a disk may be away, so it waits for the folder instead of beginning with
/// an empty queue.
///
/// It counts until the machine starts anew, and ends with the runtime folder. A folder that stays away is waited for no longer than
/// `patience`: its user may have moved it away.
package struct QueueMark: Sendable {
  private typealias Content = QueueMarkContent

  private let path: String
  private let stateFolder: String
  private let clock: any ServiceClock
  private let disk = LinuxFileSystem()

  /// Seconds for which services wait for the folder.
  package static let patience = QueueMarkContent.patience

  /// - Parameter socket: the path of the service's socket, whose folder only its user can enter.
  package init(socket: String, stateFolder: String, clock: any ServiceClock = SystemClock()) {
    path = QueueMarkContent.path(socket: socket)
    self.stateFolder = stateFolder
    self.clock = clock
  }

  /// The queue is open.
  package func set() throws {
    guard let identity = FileIdentity(path: stateFolder) else { return }
    let content = Content(stateFolder: stateFolder, identity: identity.text, bootID: clock.bootID)
    if read() != content { try write(content) }
  }

  package func remove() throws { try disk.remove(path) }

  /// Seconds for which a service is to wait for the folder; nil when it is there, or is not waited for any more. Notes when the
  /// folder was missed first.
  package func remainingWait() -> TimeInterval? {
    guard var content = read(), content.stateFolder == stateFolder, content.bootID == clock.bootID,
      isAway(content)
    else { return nil }
    if content.missed == nil {
      content.missed = DurableInstant(clock.now, clock: clock)
      // Without room for it the time begins anew with each service.
      try? write(content)
    }
    return content.remainingWait(clock)
  }

  /// Another folder in its place is the one that is waited for where it has a queue, or something that only a queue leaves.
  private func isAway(_ content: Content) -> Bool {
    guard let identity = FileIdentity(path: stateFolder) else { return true }
    guard identity.text != content.identity else { return false }
    if access("\(stateFolder)/\(TransferStore.fileName)", F_OK) == 0 { return false }
    return (try? QueueQuarantine(directory: stateFolder, disk: disk).hasTraces()) == false
  }

  private func read() -> Content? {
    guard let data = try? disk.content(of: path) else { return nil }
    return try? MessageFraming.decode(Content.self, from: data)
  }

  private func write(_ content: Content) throws {
    try disk.replace(path) { file in
      try MessageFraming.encode(content).withUnsafeBytes { try file.write($0, at: 0) }
    }
  }
}

/// The folder of the queue is missing, and may come back.
package struct QueueIsAway: Error, CustomStringConvertible {
  package let stateFolder: String

  package init(stateFolder: String) { self.stateFolder = stateFolder }

  /// The same as long as it is waited for, so that one who waits is told once.
  package var description: String {
    "the folder of the queue, \(stateFolder), is gone; it is waited for \(Int(QueueMark.patience / 60)) minutes in all before a "
      + "new queue begins"
  }
}
