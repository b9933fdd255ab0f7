import HTTPSemantics
import Testing

@Suite struct FTPListingReaderTests {
  private static func read(_ form: FTPListingReader.Form, _ text: String, piece: Int = .max) -> String {
    let bytes = Array(text.utf8)
    var reader = FTPListingReader(form, at: 1_795_375_920)
    var output: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: min(piece, max(bytes.count, 1))) {
      output += reader.read(bytes[start..<min(bytes.count, start + min(piece, bytes.count))])
    }
    return String(decoding: output + reader.finish(), as: UTF8.self)
  }

  private static let entry = "-rw-r--r--    1 -        -                   6 Jan  1  1970 a.txt\r\n"

  @Test(arguments: [1, 2, 7, .max]) func linesAreReadHoweverTheyAreCut(piece: Int) {
    let facts =
      "type=cdir; .\r\ntype=file;size=6; a.txt\r\n\r\nnonsense\r\ntype=pdir; ..\ntype=dir; ..\ntype=file;size=6; a.txt"
    #expect(Self.read(.facts, facts, piece: piece) == Self.entry + Self.entry)
  }

  /// The same folder from three servers.
  @Test func theFormIsTheSame() {
    #expect(Self.read(.facts, "type=file;size=6;modify=19700101000000; a.txt\r\n") == Self.entry)
    #expect(Self.read(.lines, "01-01-70  12:00AM                    6 a.txt\r\n") == Self.entry)
    #expect(Self.read(.lines, Self.entry) == Self.entry)
  }

  @Test(arguments: [
    ("total 12\r\n", ""), ("total 12 files\n", "total 12 files\r\n"),
    ("drwxr-xr-x 2 ftp ftp 4096 Jan 01 2020 .\r\n", ""), ("drwxr-xr-x 2 ftp ftp 4096 Jan 01 12:30 ..\n", ""),
    ("drwxr-xr-x 2 ftp 4096 Jan 01 2020 ..\r\n", ""),
    ("drwxr-xr-x 2 ftp ftp 4096 Jan 01 2020 to be ..\r\n", "drwxr-xr-x 2 ftp ftp 4096 Jan 01 2020 to be ..\r\n"),
    ("drwxr-xr-x 2 ftp ftp 4096 Jan 01 2020  ..\r\n", "drwxr-xr-x 2 ftp ftp 4096 Jan 01 2020  ..\r\n"),
    ("-rw-r--r-- 2 ftp ftp 4096 Jan 01 2020 .profile\n", "-rw-r--r-- 2 ftp ftp 4096 Jan 01 2020 .profile\r\n"),
    ("02-25-20  03:14PM       <DIR>          ..\r\n", ""), ("\r\n\n", ""), ("+i8,m1,/,\tname", "+i8,m1,/,\tname\r\n"),
  ]) func otherLinesArePassedOn(lines: String, result: String) {
    #expect(Self.read(.lines, lines) == result)
  }

  @Test(arguments: [FTPListingReader.Form.facts, .lines]) func aLineThatIsTooLongIsLeftOut(form: FTPListingReader.Form)
  {
    let long = String(repeating: "x", count: FTPListingReader.longestLine + 1)
    let short = form == .facts ? "type=file;size=6; a.txt\r\n" : Self.entry
    #expect(Self.read(form, " \(long)\n\(short) \(long)") == Self.entry)
    #expect(Self.read(form, " \(long)\r\n\(short)", piece: 1_000) == Self.entry)
  }
}
