import Foundation

/// The bytes of a password or a key, in memory that belongs to them alone.
///
/// The pages are left out of core dumps (`MADV_DONTDUMP`), kept out of the swap where the limit of locked memory allows
/// it (`mlock`), and zeroed before they are given back. Copies that callers make are theirs to watch. No description
/// shows the content.
package final class SecretBytes: Sendable {
  /// The content, at the beginning of `pages`. Written by the initialisers only.
  nonisolated(unsafe) private let content: UnsafeRawBufferPointer
  nonisolated(unsafe) private let pages: UnsafeMutableRawBufferPointer
  /// Whether the pages come from the kernel; otherwise from the heap, where there were none.
  private let isMapped: Bool

  /// - Parameter capacity: the largest number of bytes of the content.
  /// - Parameter fill: writes the content from the start of the buffer, which is zeroed, and returns its length.
  /// - Throws: what `fill` throws; `SystemError` when there is no memory.
  package init(
    capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int
  ) throws {
    isMapped = true
    guard capacity > 0 else {
      pages = UnsafeMutableRawBufferPointer(start: nil, count: 0)
      content = UnsafeRawBufferPointer(pages)
      return
    }
    let pages = try Self.allocate(capacity)
    do {
      let count = try fill(UnsafeMutableRawBufferPointer(rebasing: pages[..<capacity]))
      content = UnsafeRawBufferPointer(rebasing: pages[..<min(max(count, 0), capacity)])
      self.pages = pages
    } catch {
      Self.release(pages)
      throw error
    }
  }

  /// A copy of `bytes`.
  package convenience init(_ bytes: UnsafeRawBufferPointer) throws {
    try self.init(capacity: bytes.count) { buffer in
      buffer.copyMemory(from: bytes)
      return bytes.count
    }
  }

  /// A copy of the text's UTF-8 bytes.
  package convenience init(_ text: String) throws {
    let bytes = text.utf8
    try self.init(capacity: bytes.count) { buffer in
      buffer.copyBytes(from: bytes)
      return bytes.count
    }
  }

  /// A copy of `bytes`. In ordinary memory where the kernel has no page for it: it is zeroed all the same.
  package init(copying bytes: UnsafeRawBufferPointer) {
    let mapped = bytes.isEmpty ? UnsafeMutableRawBufferPointer(start: nil, count: 0) : try? Self.allocate(bytes.count)
    isMapped = mapped != nil
    pages = mapped ?? .allocate(byteCount: bytes.count, alignment: 1)
    pages.copyMemory(from: bytes)
    content = UnsafeRawBufferPointer(rebasing: pages[..<bytes.count])
  }

  /// A copy of the text's UTF-8 bytes, as `init(copying:)`.
  package static func copy(of text: String) -> SecretBytes {
    var text = text
    return text.withUTF8 { SecretBytes(copying: UnsafeRawBufferPointer($0)) }
  }

  deinit {
    if isMapped { return Self.release(pages) }
    if let start = pages.baseAddress { explicit_bzero(start, pages.count) }
    pages.deallocate()
  }

  package var count: Int { content.count }
  package var isEmpty: Bool { content.isEmpty }

  /// Calls `body` with the content. The pointer is valid in the call only.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(self) { try body(content) }
  }

  /// The content as text, in ordinary memory; nil when it is not UTF-8. For what needs a `String`, as the API does.
  package func text() -> String? { withBytes { String(validating: $0, as: UTF8.self) } }

  // MARK: Memory

  private static func allocate(_ capacity: Int) throws -> UnsafeMutableRawBufferPointer {
    let page = Int(getpagesize())
    let (padded, overflow) = capacity.addingReportingOverflow(page - 1)
    guard !overflow else { throw SystemError(ENOMEM, "mmap") }
    let size = padded / page * page
    guard let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), start != MAP_FAILED
    else { throw SystemError(errno, "mmap") }
    // Both are done as far as the system lets us: a limit of locked memory (RLIMIT_MEMLOCK) is no reason to refuse.
    _ = madvise(start, size, MADV_DONTDUMP)
    _ = mlock(start, size)
    return UnsafeMutableRawBufferPointer(start: start, count: size)
  }

  private static func release(_ pages: UnsafeMutableRawBufferPointer) {
    guard let start = pages.baseAddress else { return }
    // The C library's own: the compiler does not remove it, although nothing reads the memory afterwards.
    explicit_bzero(start, pages.count)
    // Unlocks too.
    munmap(start, pages.count)
  }
}

extension SecretBytes: Hashable {
  /// A hash tells something of the content, so it is that of the length.
  package func hash(into hasher: inout Hasher) { hasher.combine(count) }

  /// Takes the same time wherever the first difference is.
  package static func == (one: SecretBytes, other: SecretBytes) -> Bool {
    guard one.count == other.count else { return false }
    return one.withBytes { left in
      other.withBytes { right in zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0 }
    }
  }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "SecretBytes(hidden)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
