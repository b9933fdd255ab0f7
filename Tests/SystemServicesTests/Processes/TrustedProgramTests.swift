import Foundation
import Testing

@testable import SystemServices

@Suite struct TrustedProgramTests {
  private static let (me, stranger): (uid_t, uid_t) = (1000, 1001)

  private static func file(_ mode: mode_t, _ owner: uid_t) -> TrustedProgram.Entry {
    .init(mode: S_IFREG | mode, owner: owner)
  }

  private static func folder(_ mode: mode_t, _ owner: uid_t) -> TrustedProgram.Entry {
    .init(mode: S_IFDIR | mode, owner: owner)
  }

  static let rows: [(name: String, file: TrustedProgram.Entry, folder: TrustedProgram.Entry, isTrusted: Bool)] = [
    ("the system's", file(0o755, 0), folder(0o755, 0), true),
    ("ours", file(0o755, me), folder(0o755, me), true),
    ("ours with a group", file(0o775, me), folder(0o775, me), true),
    ("the system's at our place", file(0o755, 0), folder(0o700, me), true),
    ("a stranger's", file(0o755, stranger), folder(0o755, 0), false),
    ("in a stranger's folder", file(0o755, me), folder(0o755, stranger), false),
    ("written by everybody", file(0o757, me), folder(0o755, me), false),
    ("put by everybody", file(0o755, me), folder(0o777, me), false),
    ("put by everybody into a folder of the system's", file(0o755, me), folder(0o777, 0), false),
    ("ours in /tmp", file(0o755, me), folder(0o1777, 0), true),
    ("a stranger's in /tmp", file(0o755, stranger), folder(0o1777, 0), false),
    ("in a stranger's /tmp", file(0o755, me), folder(0o1777, stranger), false),
    ("no file", .init(mode: S_IFDIR | 0o755, owner: me), folder(0o755, me), false),
  ]

  @Test(arguments: rows.indices)
  func programIsTrustedUnlessOtherUsersCanReplaceIt(index: Int) {
    let row = Self.rows[index]
    #expect(TrustedProgram.isTrusted(file: row.file, folder: row.folder, user: Self.me) == row.isTrusted, "\(row.name)")
  }

  @Test func targetOfALinkIsChecked() throws {
    let folder = NSTemporaryDirectory() + "trusted-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["open", "closed"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: "/bin/true", toPath: "\(folder)/\(name)/program")
      chmod("\(folder)/\(name)/program", 0o755)
    }
    chmod(folder + "/open", 0o777)
    chmod(folder + "/closed", 0o755)
    #expect(TrustedProgram.isTrusted(folder + "/closed/program"))
    #expect(!TrustedProgram.isTrusted(folder + "/open/program"))
    #expect(!TrustedProgram.isTrusted(folder + "/closed"))
    #expect(!TrustedProgram.isTrusted(folder + "/closed/none"))
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/closed/link", withDestinationPath: folder + "/open/program")
    #expect(!TrustedProgram.isTrusted(folder + "/closed/link"))
    chmod(folder + "/closed/program", 0o644)
    #expect(!TrustedProgram.isTrusted(folder + "/closed/program"))
  }
}
