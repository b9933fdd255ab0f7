import Foundation

/// A C library that is opened at run time, where it is installed. It is never closed: such libraries leave threads and
/// handlers behind.
struct RuntimeLibrary {
  /// The library has no function of this name: it is not the version that is asked for.
  struct MissingFunction: Error { let name: String }

  private let handle: UnsafeMutableRawPointer

  /// nil where the library is not installed.
  init?(named name: String) {
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.handle = handle
  }

  /// A function of the library, or of those that it needs. The caller knows its C type, and names it.
  func function<Function>(_ name: String) throws -> Function {
    precondition(MemoryLayout<Function>.size == MemoryLayout<UnsafeMutableRawPointer>.size)
    guard let symbol = dlsym(handle, name) else { throw MissingFunction(name: name) }
    return unsafeBitCast(symbol, to: Function.self)
  }

  /// The address of a function that only C calls.
  func address(_ name: String) throws -> UnsafeMutableRawPointer {
    guard let symbol = dlsym(handle, name) else { throw MissingFunction(name: name) }
    return symbol
  }
}
