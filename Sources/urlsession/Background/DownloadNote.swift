import Foundation
import SystemServices
import TransferProtocol

/// The destination of a background download, kept in the task's `taskDescription` as JSON, so that every process that is
/// told of its end can put the file in its place.
struct DownloadNote: Codable, Sendable, Equatable {
  var version = 1
  var destination: Destination
  /// The folder of this program's state. A process that the service starts may have another environment.
  var state: String

  init(destination: Destination, state: String) {
    self.destination = destination
    self.state = state
  }

  /// nil for a task that this program did not make.
  init?(taskDescription: String?) {
    guard let text = taskDescription,
      let note = try? JSONReader.decode(DownloadNote.self, from: Data(text.utf8)), note.version == 1,
      note.destination.path.hasPrefix("/"), note.state.hasPrefix("/")
    else { return nil }
    self = note
  }

  var taskDescription: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  /// `$XDG_STATE_HOME/urlsession`.
  static func usualState() throws -> String { try UserDirectories().state + "/urlsession" }
}
