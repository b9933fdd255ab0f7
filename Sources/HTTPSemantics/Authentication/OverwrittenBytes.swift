import Foundation

/// The bytes of a password, which are zeroed when their last user goes. A copy of this shares them.
package final class OverwrittenBytes: Sendable {
  /// Written by the initialisers and `deinit` only.
  nonisolated(unsafe) private let bytes: UnsafeMutableRawBufferPointer

  package init(copying bytes: UnsafeRawBufferPointer) {
    self.bytes = .allocate(byteCount: bytes.count, alignment: 1)
    self.bytes.copyMemory(from: bytes)
  }

  package init(_ text: String) {
    bytes = .allocate(byteCount: text.utf8.count, alignment: 1)
    bytes.copyBytes(from: text.utf8)
  }

  deinit {
    // The C library's own: the compiler does not remove it, although nothing reads the memory afterwards.
    if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    bytes.deallocate()
  }

  package var count: Int { bytes.count }

  /// Calls `body` with the bytes. The pointer is valid in the call only.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(self) { try body(UnsafeRawBufferPointer(bytes)) }
  }

  /// The bytes as text, in ordinary memory.
  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}

extension OverwrittenBytes: Hashable {
  /// A hash tells something of the content, so it is that of the length.
  package func hash(into hasher: inout Hasher) { hasher.combine(count) }

  package static func == (left: OverwrittenBytes, right: OverwrittenBytes) -> Bool {
    left === right || left.withBytes { left in right.withBytes { left.elementsEqual($0) } }
  }
}

extension OverwrittenBytes: CustomStringConvertible, CustomReflectable {
  package var description: String { "OverwrittenBytes(hidden)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
