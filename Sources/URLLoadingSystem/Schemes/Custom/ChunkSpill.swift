import Foundation
import Glibc
import NIOCore
import Synchronization

/// The bytes of a custom protocol that have no room in memory, in a temporary file without a name.
///
/// They are read in the order in which they were appended. The place of bytes that were read is used again once all have
/// been. `append` and `read` block for the file; one `append` and one `read` may be under way at a time.
final class ChunkSpill: Sendable {
  /// Closed when the last use of it is over.
  private final class File: Sendable {
    let descriptor: CInt

    init() throws {
      let (descriptor, url) = try TemporaryFile.create()
      TemporaryFile.remove(url)
      self.descriptor = descriptor
    }

    deinit { close(descriptor) }
  }

  private struct State {
    var file: File?
    /// The end of what was written, and of what was read.
    var end: Int64 = 0
    var start: Int64 = 0
    var isDiscarded = false
  }

  private let state = Mutex(State())

  /// Appends all of `bytes`.
  /// - Throws: `URLError`, where the file can't be made or written.
  func append(_ bytes: ByteBuffer) throws {
    let present = state.withLock { state -> File? in
      if state.start == state.end { (state.start, state.end) = (0, 0) }
      return state.file
    }
    let file = try present ?? File()
    let (place, isDiscarded) = state.withLock { state -> (Int64, Bool) in
      if !state.isDiscarded { state.file = file }
      return (state.end, state.isDiscarded)
    }
    guard !isDiscarded else { return }
    try write(bytes, to: file, at: place)
    state.withLock { $0.end += Int64(bytes.readableBytes) }
  }

  private func write(_ bytes: ByteBuffer, to file: File, at place: Int64) throws {
    try bytes.withUnsafeReadableBytes { source in
      var written = 0
      while written < source.count {
        let rest = UnsafeRawBufferPointer(rebasing: source[written...])
        let count = pwrite(file.descriptor, rest.baseAddress, rest.count, off_t(place) + off_t(written))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          let reason = String(cString: strerror(errno))
          throw ErrorMapping.make(
            .cannotWriteToFile,
            because: "Data of a custom protocol could not be written to a temporary file: \(reason).")
        }
        written += count
      }
    }
  }

  /// The next `count` bytes, which must have been appended before.
  /// - Throws: `URLError`, where the file can't be read, or was discarded.
  func read(_ count: Int) throws -> ByteBuffer {
    let (file, place) = state.withLock { ($0.file, $0.start) }
    guard let file else { throw ErrorMapping.cancelled }
    var bytes = ByteBufferAllocator().buffer(capacity: count)
    while bytes.readableBytes < count {
      let missing = count - bytes.readableBytes
      let offset = off_t(place) + off_t(bytes.readableBytes)
      var reason = "it ends too early"
      let result = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { target in
        while true {
          let count = pread(file.descriptor, target.baseAddress, missing, offset)
          if count >= 0 { return count }
          guard errno == EINTR else {
            reason = String(cString: strerror(errno))
            return 0
          }
        }
      }
      guard result > 0 else {
        throw ErrorMapping.make(
          .cannotOpenFile, because: "Data of a custom protocol could not be read from its temporary file: \(reason).")
      }
    }
    state.withLock { $0.start += Int64(count) }
    return bytes
  }

  /// Gives the file up. Does not block: the room on the disk is freed on another thread.
  func discard() {
    let file = state.withLock { state -> File? in
      state.isDiscarded = true
      defer { state.file = nil }
      return state.file
    }
    guard let file else { return }
    DispatchQueue.global().async { withExtendedLifetime(file) {} }
  }
}
