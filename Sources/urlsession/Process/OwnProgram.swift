import Foundation

/// The program that this process runs.
enum OwnProgram {
  /// The path by which the transfer service knows it; empty where the kernel does not tell.
  static let path: String = {
    let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let mark = " (deleted)"
    return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
  }()
}
