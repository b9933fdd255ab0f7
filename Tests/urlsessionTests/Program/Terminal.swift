import Foundation
import Synchronization

/// A terminal of which a program has one end and the test the other.
final class Terminal: Sendable {
  static let columns = 100
  /// What the program writes to.
  let screen: FileHandle
  let path: String
  private let master: Int32
  private let written = Mutex<[UInt8]>([])

  init() throws {
    // What the program has written is there at its end; a service that it started may keep the other end open.
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
    guard master >= 0 else { throw POSIXError(.ENOTTY) }
    // What unlockpt and ptsname are, which Swift's Glibc does not import: TIOCSPTLCK and TIOCGPTN.
    var (isLocked, number): (Int32, UInt32) = (0, 0)
    guard ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
      throw POSIXError(.ENOTTY)
    }
    path = "/dev/pts/\(number)"
    let descriptor = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { throw POSIXError(.ENOTTY) }
    screen = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var size = winsize(ws_row: 24, ws_col: UInt16(Terminal.columns), ws_xpixel: 0, ws_ypixel: 0)
    guard ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0 else { throw POSIXError(.ENOTTY) }
  }

  deinit { close(master) }

  /// Types on the terminal's keyboard.
  func type(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard write(master, bytes, bytes.count) == bytes.count else { throw POSIXError(.EIO) }
  }

  /// Whether what is typed is shown.
  var showsTyping: Bool {
    var settings = termios()
    return tcgetattr(screen.fileDescriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Everything that was written. The program has to have ended.
  func transcript() throws -> String {
    try screen.close()
    return transcriptSoFar
  }

  var transcriptSoFar: String {
    written.withLock { bytes in
      var piece = [UInt8](repeating: 0, count: 4096)
      while true {
        // EIO where the other end is closed everywhere, EAGAIN where it is not.
        let count = read(master, &piece, piece.count)
        guard count > 0 else { break }
        bytes += piece.prefix(count)
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
