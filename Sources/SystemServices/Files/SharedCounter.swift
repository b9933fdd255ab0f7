import Foundation
import Synchronization

/// A number in a file that several processes read and count up without asking the kernel: a page of memory that they
/// share. A process counts it up when it has changed something that the others keep a copy of.
package final class SharedCounter: @unchecked Sendable {
  // Sendable by hand: the page is only touched by atomic operations, and stays mapped until `deinit`.
  private let number: UnsafeMutablePointer<Atomic<UInt64>>

  private static let size = 4_096

  /// Opens the file, or makes it with mode 0600. It must not be shortened while a process has it open.
  package init(path: String) throws {
    let descriptor = try checked("open", path: path) {
      Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    defer { _ = close(descriptor) }
    // Allocated, not only extended: a disk that is full is an error here, and no signal later.
    let code = posix_fallocate(descriptor, 0, off_t(SharedCounter.size))
    guard code == 0 else { throw SystemError(code, "fallocate", path: path) }
    guard let page = mmap(nil, SharedCounter.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
      page != MAP_FAILED
    else { throw SystemError(errno, "mmap", path: path) }
    number = page.assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  deinit { munmap(number, SharedCounter.size) }

  package var value: UInt64 { number.pointee.load(ordering: .acquiring) }

  /// Counts up by one.
  /// - Returns: the number as it was before.
  @discardableResult
  package func increment() -> UInt64 { number.pointee.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue }
}
