import CommandLineOutput
import Foundation
import Testing
import TransferProtocol

@testable import urlsession

/// The live view as a value, and its lines.
@Suite struct TopTests {
  private func model(_ statuses: [TransferStatus]) -> TopModel {
    var model = TopModel()
    model.replace(statuses.map { TransferReport($0) }, at: 0)
    return model
  }

  private static let waiting = Sample.status(3, .waiting) {
    $0.waiting = WaitingStatus(
      code: "retry", sentence: "The server does not answer.", nextAttempt: Sample.now.addingTimeInterval(12))
  }
  private static let paused = Sample.status(4, .waiting) {
    $0.waiting = WaitingStatus(code: "pausedByUser", sentence: "It is paused by the user.")
    $0.app = "/usr/bin/store"
  }

  private func several() -> TopModel {
    var model = model([Self.waiting, Self.paused, Sample.status(9, received: 0, total: 200_000_000)])
    model.update(TransferReport(Sample.status(9, received: 50_000_000, total: 200_000_000)), at: 2)
    return model
  }

  @Test(arguments: [
    ("\u{1B}[A\u{1B}[B\u{1B}OA", [TopKey.up, .down, .up]), ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]),
    ("\u{1B}", [.escape]), ("5K\u{7F}\r", [.character("5"), .character("K"), .backspace, .enter]),
    ("jq", [.character("j"), .character("q")]), ("\u{3}", [.interrupt]), ("\u{1B}[1;5C\u{1B}x", [.character("x")]),
    ("\u{1B}[", []),
  ])
  func keysAreRead(_ bytes: String, _ keys: [TopKey]) { #expect(TopKey.keys(in: bytes.utf8) == keys) }

  @Test func runningOnesComeFirstAndEndedOnesLast() {
    var model = several()
    #expect(model.rows.map(\.report.transfer) == [9, 3, 4])
    model.update(TransferReport(Sample.status(9, .completed) { $0.isAcknowledged = true }), at: 3)
    #expect(model.rows.map(\.report.transfer) == [3, 4, 9])
    model.timePassed(to: 20)
    #expect(model.rows.count == 3)
    model.timePassed(to: 33)
    #expect(model.rows.map(\.report.transfer) == [3, 4])
  }

  @Test func keysSelectAndAct() {
    var model = several()
    #expect(model.selected == 3)
    #expect(model.handle(.up, page: 5) == nil && model.selected == 9)
    #expect(model.handle(.up, page: 5) == nil && model.selected == 9)
    #expect(model.handle(.character("p"), page: 5) == .pause(9))
    #expect(model.handle(.pageDown, page: 5) == nil && model.selected == 4)
    #expect(model.handle(.character("r"), page: 5) == .resume(4))
    #expect(model.handle(.character("k"), page: 5) == nil && model.selected == 3)
    #expect(model.handle(.character("t"), page: 5) == .retry(3))
    #expect(model.handle(.character("c"), page: 5) == nil && model.asksToCancel == 3)
    #expect(model.handle(.character("q"), page: 5) == nil && model.asksToCancel == nil, "any other key means no")
    #expect(model.handle(.character("c"), page: 5) == nil)
    #expect(model.handle(.character("y"), page: 5) == .cancel(3))
    #expect(model.handle(.character("q"), page: 5) == .quit)
    #expect(model.handle(.interrupt, page: 5) == .quit)
  }

  private func type(_ text: String, into model: inout TopModel) -> TopModel.Action? {
    var action: TopModel.Action?
    for key in TopKey.keys(in: text.utf8) { action = model.handle(key, page: 5) ?? action }
    return action
  }

  @Test(
    arguments: [
      ("500K\r", 500_000), ("1MiBx\u{7F}\r", 1 << 20), ("9\u{7F}\u{7F}\r", nil), ("\r", nil), ("none\r", nil),
    ] as [(String, Int64?)])
  func aRateThatIsTypedLimitsTheSelectedTransfer(_ text: String, _ rate: Int64?) {
    var model = several()
    let action = type("l" + text, into: &model)
    #expect(action == .limit(3, BandwidthLimit(bytesPerSecond: rate, hours: nil)))
    #expect(model.limitPrompt == nil && model.message == nil)
  }

  @Test(arguments: [
    ("fast\r", "fast is no rate. Give bytes per second, as 500K or 1.5MiB, or none."), ("5\u{1B}", nil),
    ("5\u{3}", nil),
  ])
  func whatIsNoRateLimitsNothing(_ text: String, _ message: String?) {
    var model = several()
    let action = type("l" + text, into: &model)
    #expect(action == nil && model.limitPrompt == nil && model.message == message)
    #expect(type("q", into: &model) == .quit, "the keys mean what they did")
  }

  @Test func thePromptIsShownWithWhatIsTyped() {
    var model = several()
    // The keys of the view are letters here.
    #expect(type("lqpc", into: &model) == nil)
    let lines = TopScreen.lines(model, size: .init(columns: 90, rows: 6), now: Sample.now)
    #expect(lines[5].text == "Limit of transfer 3: qpc_  (500K, 1.5MiB; nothing: no limit; Escape: leave)")
    var empty = TopModel()
    #expect(type("l", into: &empty) == nil && empty.limitPrompt == nil, "there is none to limit")
  }

  @Test func theLinesOfAWideScreen() {
    let lines = TopScreen.lines(several(), size: .init(columns: 80, rows: 10), now: Sample.now)
    #expect(lines.count == 10)
    #expect(lines[0].text == "1 running, 1 waiting, 1 paused, 25 MB/s")
    #expect(lines[2].text == "    9 running   [===         ]     25%    25 MB/s file")
    let bar = "    3 waiting                      0 B          - file"
    #expect(lines[3].text == bar.padded(toColumns: 80))
    #expect(lines[3].style == .selected && lines[2].style == .plain)
    #expect(lines[4].text.contains("paused"))
    #expect(lines[8].text == "Transfer 3 waits. The server does not answer. It is tried again in 0:12.")
    #expect(lines[9].text.hasPrefix("q quit"))
  }

  @Test func withoutAPausedTransferNoneIsCounted() {
    let lines = TopScreen.lines(model([Self.waiting]), size: .init(columns: 80, rows: 10), now: Sample.now)
    #expect(lines[0].text == "0 running, 1 waiting, 0 B/s")
  }

  @Test(arguments: [(0, 0), (1, 1), (5, 3), (20, 5), (29, 24), (40, 6), (79, 24), (132, 40), (80, 2)])
  func nothingIsWiderOrLongerThanTheScreen(_ columns: Int, _ rows: Int) {
    var model = model((1...60).map { Sample.status($0, received: 5, total: 10) })
    for _ in 1...30 { _ = model.handle(.down, page: 1) }
    let lines = TopScreen.lines(model, size: .init(columns: columns, rows: rows), now: Sample.now)
    #expect(lines.count <= rows)
    #expect(lines.allSatisfy { $0.text.count <= columns })
    if rows > 4 { #expect(lines.contains { $0.style == .selected }, "the selected one is in sight") }
  }

  @Test func theNameOfTheFileIsThatOfItsDestination() throws {
    let place = Destination(path: "/home/photos.zip", isFolder: false)
    let note = DownloadNote(destination: place, state: "/s")
    let description = try note.taskDescription
    let model = model([Sample.status(1) { $0.taskDescription = description }])
    #expect(TopScreen.lines(model, size: .init(columns: 60, rows: 6))[2].text.contains(" photos.zip "))
  }

  /// A name in wide characters takes two columns for each, and a cut one ends within the screen.
  @Test(arguments: 1...60) func wideCharactersStayOnTheScreen(_ columns: Int) {
    let model = model([Sample.status(1) { $0.url = "https://h/" + String(repeating: "%E6%BC%A2", count: 40) }])
    let lines = TopScreen.lines(model, size: .init(columns: columns, rows: 6), now: Sample.now)
    #expect(lines.allSatisfy { $0.text.terminalColumns <= columns })
    if columns == 60 { #expect(lines[2].text.hasSuffix("漢…") && lines[2].text.terminalColumns >= 59) }
  }

  @Test func absenceAndMessagesAreShown() {
    var model = TopModel()
    let size = TopScreen.Size(columns: 60, rows: 6)
    #expect(TopScreen.lines(model, size: size)[4].text == "No transfers.")
    model.serviceIsAbsent("The transfer service does not run.", isRunning: false)
    #expect(TopScreen.lines(model, size: size)[4].text == "The transfer service does not run.")
    model.message = "Refused.\u{1B}[2J"
    #expect(TopScreen.lines(model, size: size)[5].text == "Refused.\u{FFFD}[2J")
    #expect(model.handle(.character("p"), page: 2) == nil, "there is none to pause")
  }

  @Test func nothingRunsWithoutAService() {
    var model = several()
    let size = TopScreen.Size(columns: 90, rows: 8)
    model.serviceIsAbsent("It has ended.", isRunning: true)
    var lines = TopScreen.lines(model, size: size, now: Sample.now).map(\.text)
    #expect(lines.first == "0 running, 2 waiting, 1 paused, 0 B/s" && lines[6] == "It has ended.", "\(lines)")
    model.serviceIsAbsent("It does not run.", isRunning: false)
    lines = TopScreen.lines(model, size: size, now: Sample.now).map(\.text)
    #expect(lines.first == "0 running, 2 waiting, 1 paused, 0 B/s", "\(lines)")
    #expect(lines[6] == "Transfer 3 waits. The transfer service does not run; `urlsession wait 3` starts it.")
    model.serviceAnswers()
    model.replace([TransferReport(Sample.status(9, received: 50_000_000, total: 200_000_000))], at: 9)
    lines = TopScreen.lines(model, size: size, now: Sample.now).map(\.text)
    #expect(lines.first == "1 running, 0 waiting, 0 B/s", "\(lines)")
  }

  @Test(arguments: [
    (true, "Transfer 17 is over; `urlsession retry 17` begins it again."), (false, "Transfer 17 is over."),
  ])
  func aKeyThatCanDoNothingSaysSo(beginsAgain: Bool, message: String) {
    let record = Sample.record(.cancelled) { $0.isOfURLAlone = beginsAgain }
    for key in "prtcl" {
      var model = TopModel()
      model.update(TransferReport(Sample.over(), record: record), at: 0)
      #expect(model.handle(.character(key), page: 5) == nil)
      #expect(model.message == message && model.asksToCancel == nil && model.limitPrompt == nil)
    }
  }
}
