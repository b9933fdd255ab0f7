import Testing

@testable import TransferService

@Suite struct ChangeLinesTests {
  @Test func workFollowsTheLastChangeOfItsSubject() {
    var lines = ChangeLines()
    #expect(!lines.isBusy(.description(1)) && !lines.hasSessions)
    lines.begin(.description(1))
    lines.begin(.sessions(7))
    lines.begin(.sessions(7))
    lines.follow(.sessions(7)) { _ in }
    lines.follow(.sessions(7)) { _ in }
    #expect(lines.isBusy(.description(1)) && !lines.isBusy(.description(2)) && lines.hasSessions)
    lines.end(.sessions(7))
    #expect(lines.takeFollowing(.sessions(7)).isEmpty && lines.isBusy(.sessions(7)))
    lines.end(.sessions(7))
    #expect(lines.takeFollowing(.sessions(7)).count == 2 && !lines.isBusy(.sessions(7)) && !lines.hasSessions)
    lines.end(.description(1))
    #expect(lines.takeFollowing(.description(1)).isEmpty && !lines.isBusy(.description(1)))
    #expect(lines.takeFollowing(.description(1)).isEmpty && lines.takeNext(.description(1)) == nil)
  }

  /// Those that come meanwhile wait behind the others.
  @Test func theSubjectIsOpenForTheOneThatHasWaitedAlone() {
    var lines = ChangeLines()
    lines.begin(.limits(.service))
    lines.wait(for: .limits(.service)) { _ in }
    lines.wait(for: .limits(.service)) { _ in }
    #expect(lines.takeNext(.limits(.service)) == nil)
    lines.end(.limits(.service))
    #expect(lines.takeFollowing(.limits(.service)).isEmpty && !lines.isWriting(.limits(.service)))
    #expect(lines.takeNext(.limits(.service)) != nil && lines.isBusy(.limits(.service)))
    lines.open(.limits(.service))
    #expect(!lines.isBusy(.limits(.service)))
    lines.begin(.limits(.service))
    #expect(lines.isBusy(.limits(.service)))
    lines.close(.limits(.service))
    #expect(lines.takeNext(.limits(.service)) == nil)
    lines.end(.limits(.service))
    #expect(lines.takeFollowing(.limits(.service)).isEmpty && lines.takeNext(.limits(.service)) != nil)
    // This one begins no change.
    lines.open(.limits(.service))
    lines.close(.limits(.service))
    lines.follow(.limits(.service)) { _ in }
    #expect(lines.takeFollowing(.limits(.service)).count == 1 && !lines.isBusy(.limits(.service)))
  }
}
