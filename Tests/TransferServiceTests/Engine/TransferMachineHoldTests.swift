import Foundation
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// A pause of the user beside the state that the app asks for, and the other requests of a person.
@Suite struct TransferMachineHoldTests {
  typealias Machine = TransferMachine
  typealias Base = TransferMachineTests

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let before: [Machine.Event]
    let event: Machine.Event
    let state: Machine.State
    let hold: Machine.Hold?
    let actions: [Machine.Action]

    init(
      _ name: String, _ before: [Machine.Event], _ event: Machine.Event, _ state: Machine.State, _ hold: Bool?,
      _ actions: [Machine.Action]
    ) {
      testDescription = name
      self.before = before
      self.event = event
      self.state = state
      self.hold = hold.map { Machine.Hold(goesOn: $0) }
      self.actions = actions
    }
  }

  static let waiting = Base.waiting
  static let running = Base.running

  /// Written out, since sums of literals take the compiler long.
  static func after(_ begin: [Machine.Event], _ events: Machine.Event...) -> [Machine.Event] { begin + events }

  static let rows: [Row] = [
    Row("a waiting one is held", waiting, .held, .suspended, true, [.unschedule, .announceState]),
    Row(
      "a running one is stopped", running, .held, .stopping(then: .suspend), true,
      [.stopRunIfRepeatable, .announceState]),
    Row("a suspended one is held as well", [], .held, .suspended, false, [.announceState]),
    Row("holding it again changes nothing", after(waiting, .held), .held, .suspended, true, []),
    Row("one that is over can't be held", after(running, Base.finished()), .held, .finishing(Base.end), nil, []),
    Row(
      "it waits again when it is let go on", after(waiting, .held), .holdEnded, .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row("and rests where its app has suspended it", [.held], .holdEnded, .suspended, nil, [.announceState]),
    Row("letting go on what is not held changes nothing", waiting, .holdEnded, .waiting(nil), nil, []),
    Row("the app can't resume it", after(waiting, .held, .suspended), .resumed, .suspended, true, [.announceState]),
    Row(
      "the app's resume counts later", [.held, .resumed], .holdEnded, .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row(
      "the app's suspend counts later", after(waiting, .held, .suspended), .holdEnded, .suspended, nil, [.announceState]
    ),
    Row(
      "a resume of what runs in the app's eyes changes nothing", after(waiting, .held), .resumed, .suspended, true, []),
    Row(
      "a run that ends rests", after(running, .held), Base.stopped(), .suspended, true, [.unschedule, .announceState]),
    Row(
      "let go on before it stopped", after(running, .held), .holdEnded, .stopping(then: .wait), nil, [.announceState]),
    Row(
      "a held one is cancelled", after(waiting, .held), Base.cancel, .finishing(Base.cancelled), true,
      [.unschedule, .writeEnd(Base.cancelled)]),
    Row(
      "its last byte ends it", after(running, .held), Base.finished(), .finishing(Base.end), true,
      [
        .unschedule, .writeEnd(Base.end),
      ]),
    Row("one that waits for its app is held", Base.asking, .held, .suspended, true, [.announceState]),
    Row("a network wakes no held one", after(running, Base.retry(), .held), .networkChanged, .suspended, true, []),

    Row(
      "a wait for the next try is ended", after(running, Base.retry()), .triedNow, .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row(
      "also that for a busy server", after(running, Base.refused()), .triedNow, .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row("one whose turn comes next waits on", waiting, .triedNow, .waiting(nil), nil, []),
    Row("a running one runs on", running, .triedNow, .running, nil, []),

    Row("a new request stops the run", running, .requestChanged, .stopping(then: .wait), nil, [.stopRunIfRepeatable]),
    Row(
      "and begins the next one", after(running, .requestChanged), Base.stopped(), .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row(
      "a new request ends a wait", after(running, Base.retry()), .requestChanged, .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row(
      "and the question that the former one met", Base.asking, .requestChanged, .waiting(nil), nil,
      [
        .schedule(nil), .announceState,
      ]),
    Row("a held one stays held", after(waiting, .held), .requestChanged, .suspended, true, []),
  ]

  @Test(arguments: rows) func answers(_ row: Row) {
    var machine = Base.machine(row.before)
    #expect(machine.handle(row.event, at: Base.moment) == row.actions)
    #expect(machine.state == row.state)
    #expect(machine.hold == row.hold)
  }

  /// It was set aside by an earlier life of the service.
  @Test func whatWasSetAsideIsResumedByItsAppAfterASuspension() {
    var machine = Machine(hold: Machine.Hold(goesOn: true, isSetAside: true))
    #expect(machine.mayRunOutOfTime && !machine.canResume && machine.canSuspend && machine.canHold)
    #expect(machine.handle(.resumed, at: Base.moment) == [])
    #expect(machine.handle(.suspended, at: Base.moment) == [.announceState])
    #expect(machine.isSetAside && !machine.mayRunOutOfTime && machine.canResume)
    #expect(machine.handle(.resumed, at: Base.moment) == [.schedule(nil), .announceState])
    #expect(!machine.isHeld && machine.state == .waiting(nil))
  }

  @Test func whatWasSetAsideAndIsPausedIsResumedByTheUser() {
    var machine = Machine(hold: Machine.Hold(goesOn: true, isSetAside: true))
    #expect(machine.handle(.held, at: Base.moment) == [.announceState])
    #expect(machine.hold == Machine.Hold(goesOn: true) && !machine.canHold)
    #expect(machine.handle(.suspended, at: Base.moment) == [.announceState])
    #expect(machine.handle(.resumed, at: Base.moment) == [.announceState])
    #expect(machine.state == .suspended)
    #expect(machine.handle(.holdEnded, at: Base.moment) == [.schedule(nil), .announceState])
  }

  /// The queue has the app's state and the user's pause side by side.
  @Test(arguments: [(true, true), (false, true), (true, false), (false, false)])
  func theAppsWishIsAskedForOnlyOnce(_ goesOn: Bool, _ isHeld: Bool) {
    let machine = Machine(hold: isHeld ? Machine.Hold(goesOn: goesOn) : nil)
    #expect(machine.canResume == (!isHeld || !goesOn))
    #expect(machine.canSuspend == (isHeld && goesOn))
    #expect(machine.canHold == !isHeld)
  }
}
