import HTTPSemantics
import Testing

@Suite struct FTPListingEntryTests {
  /// 22 November 2026, 19:32:00 UTC.
  private static let now: Int64 = 1_795_375_920

  private static func line(facts: String) -> String {
    guard case .entry(let entry) = FTPListingEntry.reading(facts: Array(facts.utf8)) else { return "" }
    return String(decoding: entry.line(at: now), as: UTF8.self)
  }

  @Test(arguments: [
    (
      "type=file;size=6;modify=20261101090807;UNIX.mode=0640;UNIX.owner=ann;UNIX.group=staff; a.txt",
      "-rw-r-----    1 ann      staff               6 Nov  1 09:08 a.txt"
    ),
    (
      "Type=DIR;modify=20200102030405.678;unix.mode=1777; tmp",
      "drwxrwxrwt    1 -        -                   0 Jan  2  2020 tmp"
    ),
    ("type=dir;sizd=4096;modify=20200102030405; d", "drwxr-xr-x    1 -        -                4096 Jan  2  2020 d"),
    // Later than now: a time without a year would be taken for the last year's.
    ("type=file;size=1;modify=20261123000000; n", "-rw-r--r--    1 -        -                   1 Nov 23  2026 n"),
    (
      "type=OS.unix=slink:/etc/motd; link",
      "lrwxrwxrwx    1 -        -                   0 Jan  1  1970 link -> /etc/motd"
    ),
    ("type=OS.unix=symlink; link", "lrwxrwxrwx    1 -        -                   0 Jan  1  1970 link"),
    ("type=OS.unix=chr-13/29; tty", "crw-r--r--    1 -        -                   0 Jan  1  1970 tty"),
    ("type=something; x", "?rw-r--r--    1 -        -                   0 Jan  1  1970 x"),
    // A name may begin with a space, and hold what looks like facts.
    ("type=file;  a=b; c ", "-rw-r--r--    1 -        -                   0 Jan  1  1970  a=b; c "),
    (" no facts", "-rw-r--r--    1 -        -                   0 Jan  1  1970 no facts"),
    // Values that make no sense.
    (
      "type=file;size=-1;modify=20261301000000;unix.mode=9; n",
      "-rw-r--r--    1 -        -                   0 Jan  1  1970 n"
    ),
    ("size=99999999999999999999; n", "-rw-r--r--    1 -        -                   0 Jan  1  1970 n"),
    ("unix.mode=6755;unix.uid=1000;unix.gid=100; n", "-rwsr-sr-x    1 1000     100                 0 Jan  1  1970 n"),
  ]) func factsBecomeALine(facts: String, line: String) {
    #expect(Self.line(facts: facts) == line)
  }

  @Test func aNameHasAnyBytes() {
    let name: [UInt8] = [0xFF, 0x00, 0x1B, 0x2F, 0xC3, 0x28]
    guard case .entry(let entry) = FTPListingEntry.reading(facts: Array("type=file; ".utf8) + name) else {
      Issue.record("the line is not read")
      return
    }
    #expect(entry.name == name && Array(entry.line(at: Self.now).suffix(name.count)) == name)
  }

  @Test(arguments: ["type=cdir; .", "type=CDIR;size=1; /pub", "type=pdir; .."]) func theFolderItselfIsTold(line: String)
  {
    #expect(FTPListingEntry.reading(facts: Array(line.utf8)) == .folderItself)
  }

  @Test(arguments: ["", "name", "type=file;", "type=file; ", "type; name", "=file; name", "garbage and more"])
  func otherLinesAreMalformed(line: String) {
    #expect(FTPListingEntry.reading(facts: Array(line.utf8)) == .malformed)
  }

  @Test(arguments: [
    (
      "02-25-20  03:14PM       <DIR>          two words",
      "drwxr-xr-x    1 -        -                   0 Feb 25  2020 two words"
    ),
    (
      "11-01-2026  12:05AM                 1234 a.txt",
      "-rw-r--r--    1 -        -                1234 Nov  1 00:05 a.txt"
    ),
    ("12-31-99  23:59                    0 old", "-rw-r--r--    1 -        -                   0 Dec 31  1999 old"),
  ]) func aLineOfWindowsIsRead(line: String, result: String) {
    let entry = FTPListingEntry(dosLine: Array(line.utf8))
    #expect(entry.map { String(decoding: $0.line(at: Self.now), as: UTF8.self) } == result)
  }

  @Test(arguments: [
    "", "-rw-r--r-- 1 ftp ftp 6 Jan 01 2020 a.txt", "13-25-20  03:14PM  <DIR>  d", "02-25-20  03:14XM  <DIR>  d",
    "02-25-20  03:14PM  12x  d", "02-25-20  03:14PM  12", "2-25-20  03:14PM  12 d", "02-25-20  13:14PM  12 d",
  ]) func anotherLineIsNotOfWindows(line: String) {
    #expect(FTPListingEntry(dosLine: Array(line.utf8)) == nil)
  }
}
