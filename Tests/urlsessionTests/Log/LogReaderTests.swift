import Foundation
import LoopbackServer
import SystemServices
import Testing

@testable import urlsession

@Suite struct LogReaderTests {
  @Test(
    arguments: [
      ("transfer 7 runs from 0", 7, true), ("transfer 70 runs", 7, false), ("transfer 70, then transfer 7", 7, true),
      ("the end of transfer 7", 7, true), ("2 transfers are not over", 2, false),
    ] as [(String, Int64, Bool)])
  func linesOfATransferAreFound(_ line: String, _ transfer: Int64, _ isFound: Bool) {
    #expect(LogReader.mentions(line, transfer: transfer) == isFound)
  }

  @Test func linesAreReadOnceAndWhole() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/log"
    try Data("one\ntw".utf8).write(to: URL(fileURLWithPath: path))
    var reader = try LogReader(path)
    #expect(try reader.lines() == ["one"])
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data("o\nthree\u{1B}\n".utf8))
    #expect(try reader.lines() == ["two", "three\u{FFFD}"])
    #expect(try reader.lines() == [])
    try file.truncate(atOffset: 0)
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Data("new\n".utf8))
    #expect(try reader.lines() == ["new"], "the service empties a log that is full")
  }

  /// The service copies a log that is full and empties it.
  @Test func thePartThatWasCopiedAwayIsReadToo() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/log"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let log = LogFile(path: path, descriptor: descriptor, maximumSize: 100_000)
    let written = (0..<200).map { "\($0) " + String(repeating: "x", count: 1_000) }
    for line in written { log.write(Array((line + "\n").utf8)) }
    try #require(FileManager.default.fileExists(atPath: LogFile.olderPath(of: path)), "it was full")
    var reader = try LogReader(path)
    let current = try reader.lines()
    #expect(current.count < written.count)
    #expect(try reader.latest(nil) { _ in true } == written)
    #expect(try reader.latest(3) { _ in true } == Array(written.suffix(3)))
    #expect(try reader.latest(current.count + 1) { _ in true } == Array(written.suffix(current.count + 1)))
    #expect(try reader.latest(5) { $0.hasPrefix("1 ") } == [written[1]])
    log.write(Array("new\n".utf8))
    #expect(try reader.lines() == ["new"], "what is followed goes on behind them")
  }

  @Test func aLogThatWasNeverFullHasOnePart() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/log"
    try Data("one\ntwo\n".utf8).write(to: URL(fileURLWithPath: path))
    var reader = try LogReader(path)
    #expect(try reader.latest(nil) { _ in true } == ["one", "two"])
    #expect(try reader.latest(1) { _ in true } == ["two"])
  }

  @Test(
    arguments: [
      ("/state/log", true, true, LogSource.file("/state/log")), ("socket:[123]", true, true, .journal),
      ("/dev/pts/3", true, true, .file("/f")), (nil, true, true, .file("/f")), (nil, false, true, .journal),
      (nil, false, false, nil),
    ] as [(String?, Bool, Bool, LogSource?)])
  func theRunningServiceTells(_ output: String?, _ exists: Bool, _ hasUnit: Bool, _ source: LogSource?) {
    #expect(LogSource.choose(output: output, file: "/f", exists: exists, hasUnit: hasUnit) == source)
  }

  @Test func theJournalIsAskedForTheTransfer() throws {
    let command = try LogCommand.parse(["17", "--follow", "-n", "0"])
    #expect(
      command.journalArguments() == [
        "--user", "--no-pager", "--quiet", "--unit", "urlsessiond.service", "--grep", "transfer 17\\b",
        "--case-sensitive=true", "--follow",
      ])
    #expect(try LogCommand.parse([]).journalArguments().suffix(2) == ["--lines", "200"])
  }
}
