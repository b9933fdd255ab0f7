import Foundation

/// Whether the journal reads a file that is open here.
///
/// systemd sets `JOURNAL_STREAM` to the device and the inode of the stream, in decimal with a colon between. Children inherit
/// the variable also where their output goes elsewhere, so systemd.exec(5) has programs compare it with the file.
package enum JournalStream {
  package static func isFile(_ descriptor: Int32, named variable: String?) -> Bool {
    var status = stat()
    guard let variable, fstat(descriptor, &status) == 0 else { return false }
    return isStream(variable, device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  package static func isStream(_ variable: String, device: UInt64, inode: UInt64) -> Bool {
    let numbers = variable.split(separator: ":", omittingEmptySubsequences: false).map { UInt64($0) }
    return numbers == [device, inode]
  }
}
