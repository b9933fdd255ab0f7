import Foundation

/// The first three descriptors, without which a shell can start a program: `urlsession list >&-`.
enum StandardDescriptors {
  /// Takes those that are closed, before other files do: what is printed would go to these. A use of one fails as that of a closed one.
  static func occupy() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // It gets the lowest number that is free, which is this one.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
