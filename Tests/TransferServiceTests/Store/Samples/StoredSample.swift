import Foundation

/// Files as the service left them with each version of its tables and journals. A version that was released stays as it is.
///
/// `1.sqlite` to `8.sqlite` have the tables as the statements made them that the first commit with that migration had. In each
/// is session `s` of `/app` with task 1, which is over with a file of 5 bytes, and task 2, which is suspended with 7 of 9 bytes;
/// from the sixth on also task 3, an upload, and limits of all kinds; from the seventh on the request of task 2 is begun; the eighth
/// has had five recorded changes. `journal-2` and `journal-3` are the journals of tasks 2 and 3, and `tasks-1` has the records of
/// the new tasks 4 and 5, of which the latter is over.
enum StoredSample {
  private static let folder =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Files").path

  static func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

  static func copy(_ name: String, to path: String) throws {
    try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: path)
  }
}
