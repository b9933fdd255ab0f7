import Testing

@testable import TransferService

@Suite struct ChangeLinesTests {
  @Test func workWaitsForTheLastChangeOfItsSubject() {
    var lines = ChangeLines()
    #expect(!lines.isBusy(.description(1)) && !lines.hasSessions)
    lines.begin(.description(1))
    lines.begin(.sessions(7))
    lines.begin(.sessions(7))
    lines.add(to: .sessions(7)) { _ in }
    lines.add(to: .sessions(7)) { _ in }
    #expect(lines.isBusy(.description(1)) && !lines.isBusy(.description(2)) && lines.hasSessions)
    #expect(lines.end(.sessions(7)).isEmpty && lines.isBusy(.sessions(7)))
    #expect(lines.end(.sessions(7)).count == 2 && !lines.isBusy(.sessions(7)) && !lines.hasSessions)
    #expect(lines.end(.description(1)).isEmpty && !lines.isBusy(.description(1)))
    #expect(lines.end(.description(1)).isEmpty)
  }
}
