import CLinux
import Glibc

/// The bytes of a file that the kernel has in memory.
package enum CachedBytes {
  package enum Reading: Equatable, Sendable {
    /// So many bytes, fewer than asked for where the next ones are not in memory; 0 at the end of the file.
    case read(Int)
    /// A disk has to be waited for, or the file can't be read: a read that may wait tells.
    case wouldWait
    /// The file's system does not tell the bytes in memory from others: NFS, FUSE, some kernels' tmpfs.
    case isNotOffered
  }

  /// Does not wait for a disk.
  package static func read(_ descriptor: Int32, into space: UnsafeMutableRawBufferPointer, at offset: Int64) -> Reading
  {
    let count = clinux_read_cached(descriptor, space.baseAddress, space.count, offset)
    if count >= 0 { return .read(count) }
    return errno == EOPNOTSUPP || errno == ENOSYS ? .isNotOffered : .wouldWait
  }
}
