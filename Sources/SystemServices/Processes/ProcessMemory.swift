import CLinux

/// The memory of this process.
package enum ProcessMemory {
  /// Gives back the memory of code that has run and is not needed while the process waits, and free memory of the heap.
  ///
  /// Such pages are read from their files again when they are used, mostly from the kernel's cache.
  package static func release() { clinux_release_memory() }
}
