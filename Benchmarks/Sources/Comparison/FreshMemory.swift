import Glibc

/// Memory that a virtual machine has not used for a while was given back to its host, and its first use then costs
/// several times what the copying into it costs. The run that comes first would pay for the next ones.
enum FreshMemory {
  /// Makes the machine hold so many bytes of free memory that were used just now.
  static func makeReady(bytes: Int) {
    let protection = PROT_READ | PROT_WRITE
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE
    guard let memory = mmap(nil, bytes, protection, flags, -1, 0), memory != MAP_FAILED else { return }
    munmap(memory, bytes)
  }
}
