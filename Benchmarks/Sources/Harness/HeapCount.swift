import Foundation

/// How many blocks this process has taken from the heap, where the library of `Counting` is loaded into it.
enum HeapCount {
  private typealias Count = @convention(c) () -> UInt64

  /// nil where nothing counts them.
  static var value: UInt64? {
    guard let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "heap_allocations") else { return nil }
    return unsafeBitCast(symbol, to: Count.self)()
  }
}
