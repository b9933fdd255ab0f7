import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Changes of requests.
extension OutboxTests {
  private static func wanted(_ token: String?) -> WantedTask {
    var wanted = wanted()
    guard let token else { return wanted }
    var edit = EditTransfer(transfer: 0)
    edit.fields = [HeaderField("Authorization", token)]
    wanted.edit = edit
    return wanted
  }

  private func edit(_ actions: [Outbox.Action]) -> EditTransfer? {
    for case .send(.edit(let edit), _) in actions { return edit }
    return nil
  }

  /// Attached, with task 1, whose request is being changed.
  private func changing() throws -> (outbox: Outbox, edit: EditTransfer) {
    var outbox = Outbox(maximumCount: 3, maximumWeight: 100)
    _ = outbox.attached([1: Self.known()])
    outbox.adopt(1, Self.wanted(nil), known: Self.known(), weight: 1)
    _ = outbox.deliveryStarted()
    let told = outbox.change(1, Self.wanted("new"))
    return (outbox, try #require(edit(told)))
  }

  @Test func aChangeIsToldOnce() throws {
    var (outbox, edit) = try changing()
    #expect(outbox.flush().isEmpty, "it is not confirmed")
    #expect(outbox.requestEnded(.edit(edit), task: 1, .accepted) == [.flushed])
    #expect(outbox.change(1, Self.wanted(nil)).isEmpty)
  }

  @Test func aChangeThatWasNotConfirmedIsToldOverTheNextConnection() throws {
    var (outbox, edit) = try changing()
    outbox.detached()
    #expect(self.edit(outbox.attached([1: Self.known()])) == edit)
    #expect(outbox.deliveryStarted().isEmpty)
    #expect(outbox.requestEnded(.edit(edit), task: 1, .accepted).isEmpty)
    outbox.detached()
    #expect(outbox.attached([1: Self.known()]).isEmpty)
  }

  @Test func aChangeIsToldAgainAfterAPauseAndNotAfterARefusal() throws {
    var (outbox, edit) = try changing()
    #expect(outbox.requestEnded(.edit(edit), task: 1, .refusedForNow) == [.pause])
    #expect(self.edit(outbox.pauseEnded()) == edit)
    #expect(outbox.requestEnded(.edit(edit), task: 1, .refused("No.")).isEmpty)
    outbox.detached()
    #expect(outbox.attached([1: Self.known()]).isEmpty)
  }

  @Test func aTaskThatIsBeingCreatedIsChangedThen() throws {
    var outbox = Outbox(maximumCount: 3, maximumWeight: 100)
    _ = outbox.attached([:])
    _ = outbox.deliveryStarted()
    _ = outbox.add(1, Self.wanted(nil), weight: 1)
    #expect(outbox.change(1, Self.wanted("new")).isEmpty)
    #expect(edit(outbox.creationEnded(.accepted)) != nil)
  }

  @Test func aTaskThatIsCancelledIsNotChanged() throws {
    var (outbox, edit) = try changing()
    var cancelled = Self.wanted("new")
    cancelled.cancellation = .plain
    _ = outbox.change(1, cancelled)
    #expect(outbox.requestEnded(.edit(edit), task: 1, .refusedForNow) == [.pause])
    #expect(self.edit(outbox.pauseEnded()) == nil)
  }
}
