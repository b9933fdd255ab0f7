import CLinux
import Foundation

/// The facts of a file that its owner may set, also where it is open for reading only. All block.
extension SourceFile {
  /// An extended attribute; nil where there is none, or none can be read.
  package func attribute(_ name: String, capacity: Int = 256) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: capacity)
    let count = clinux_get_attribute(descriptor, name, &bytes, capacity)
    return count >= 0 ? Array(bytes.prefix(count)) : nil
  }

  package func setAttribute(_ name: String, to value: [UInt8]) throws {
    _ = try checked("fsetxattr") { clinux_set_attribute(descriptor, name, value, value.count) }
  }

  package func removeAttribute(_ name: String) throws {
    _ = try checked("fremovexattr") { clinux_remove_attribute(descriptor, name) }
  }

  package func setModified(_ time: timespec) throws {
    let times = [try regularStatus().st_atim, time]
    _ = try checked("futimens") { futimens(descriptor, times) }
  }

  package func setMode(_ mode: mode_t) throws { _ = try checked("fchmod") { fchmod(descriptor, mode) } }

  /// Returns once all of it is on the disk, its attributes included.
  package func sync() throws { _ = try checked("fsync") { fsync(descriptor) } }
}
