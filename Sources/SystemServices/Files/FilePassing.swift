import CLinux
import Foundation

/// Hands open files to another process, over a Unix socket that both have: one byte, and the descriptors with it.
///
/// The kernel gives the other process the very files, so it needs no name for them and no permission, and the files may
/// lose their names meanwhile.
package enum FilePassing {
  /// How many files one byte may bring.
  package static let mostFiles = 64

  /// Does not wait.
  package static func send(_ files: [SourceFile], over socket: Int32) throws {
    let descriptors = files.map(\.descriptor)
    _ = try withExtendedLifetime(files) {
      try checked("sendmsg") { clinux_send_files(socket, descriptors, UInt32(clamping: descriptors.count)) }
    }
  }

  /// The files that came with the next byte: fewer than were sent where this process can't open more. nil when no byte has
  /// come yet. Does not wait.
  ///
  /// - Throws: `SystemError`: ECONNRESET at the end of the connection.
  package static func receive(over socket: Int32) throws -> [SourceFile]? {
    var descriptors = [Int32](repeating: -1, count: mostFiles)
    do {
      let count = try checked("recvmsg") { clinux_receive_files(socket, &descriptors, UInt32(mostFiles)) }
      return descriptors.prefix(Int(count)).map { SourceFile(owning: $0, isFromElsewhere: true) }
    } catch let error as SystemError where error.code == EAGAIN { return nil }
  }
}
