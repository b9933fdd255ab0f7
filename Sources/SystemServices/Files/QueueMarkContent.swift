import Foundation

/// The content of the file beside the socket that names the folder of the queue. The service writes it; programs read why the service waits.
package struct QueueMarkContent: Codable, Sendable, Equatable {
  package var stateFolder: String
  /// Of the folder.
  package var identity: String
  package var bootID: String
  /// When a service missed the folder first.
  package var missed: DurableInstant?

  /// Seconds for which services wait for the folder.
  package static let patience: TimeInterval = 600

  package init(stateFolder: String, identity: String, bootID: String) {
    (self.stateFolder, self.identity, self.bootID) = (stateFolder, identity, bootID)
  }

  package static func path(socket: String) -> String { socket + ".queue" }

  /// Seconds for which services go on to wait for a folder that is missing; nil when it is not waited for any more.
  package func remainingWait(_ clock: any ServiceClock) -> TimeInterval? {
    let since = missed?.instant(on: clock, past: Self.patience, future: 0) ?? clock.now
    let remaining = Self.patience - (clock.now - since)
    return remaining > 0 ? remaining : nil
  }

  /// The same as far as files tell it; changes nothing. nil also where the folder is there, or another queue in its place.
  ///
  /// - Parameter queue: the name of the queue in the folder.
  package static func remainingWait(
    socket: String, stateFolder: String, queue: String, clock: any ServiceClock = SystemClock()
  ) -> TimeInterval? {
    guard let data = FileManager.default.contents(atPath: path(socket: socket)),
      let content = try? JSONDecoder().decode(QueueMarkContent.self, from: data),
      content.stateFolder == stateFolder, content.bootID == clock.bootID,
      FileIdentity(path: stateFolder)?.text != content.identity,
      access("\(stateFolder)/\(queue)", F_OK) != 0
    else { return nil }
    return content.remainingWait(clock)
  }
}
