import Foundation

/// The places of the service that runs, or ran last, in a file below the user's home. An app finds the queue by it also where
/// `XDG_STATE_HOME` is not the same for app and service, as in a service of the user's manager.
package struct ServiceNote: Codable, Sendable, Equatable {
  /// The path of the socket. The note is of no use to an app whose service has another one.
  package var socket: String
  /// The folder of the queue.
  package var stateFolder: String

  private static let longest = 64 << 10

  package init(socket: String, stateFolder: String) {
    (self.socket, self.stateFolder) = (socket, stateFolder)
  }

  /// The file. It does not depend on `XDG_STATE_HOME`.
  package static func path(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> String { UserDirectories.usualState(environment: environment) + "/urlsessiond/place.json" }

  /// nil where there is none that this user alone can have written. Looks at files.
  package init?(at path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_mode & 0o022 == 0, let data = try? file.read(upToCount: ServiceNote.longest),
      let note = try? JSONDecoder().decode(ServiceNote.self, from: data), note.stateFolder.hasPrefix("/")
    else { return nil }
    self = note
  }

  /// Does nothing where the note says the same already. Writes files.
  package func write(to path: String) throws {
    guard ServiceNote(at: path) != self else { return }
    try PrivateDirectory.ensure((path as NSString).deletingLastPathComponent)
    let data = try JSONEncoder().encode(self)
    let next = "\(path).\(getpid())"
    let descriptor = try checked("open", path: next) {
      open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: data)
      try LinuxFileSystem().rename(next, to: path)
    } catch {
      unlink(next)
      throw error
    }
  }
}
