import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Random sequences of requests, ends of runs, crashes of the app, restarts of the service and failures of the queue,
/// with the real engine over a real queue.
@Suite struct TransferEngineSequenceTests {
  /// The record of everything that the test did.
  private final class History {
    var random: SeededGenerator
    var fixture: EngineFixture
    let runner: ScriptedRunner
    var client: FakeClient
    var ended: [FakeClient] = []
    var tasks: [Int: TransferID] = [:]
    var cancelled: Set<Int> = []
    var acknowledged: Set<Int64> = []
    /// Events that were acknowledged before the present client attached.
    var acknowledgedBefore: Set<Int64> = []
    var storageIsBroken = false

    init(seed: UInt64, fixture: EngineFixture, runner: ScriptedRunner) {
      random = SeededGenerator(seed: seed)
      self.fixture = fixture
      self.runner = runner
      client = fixture.client()
    }

    func step() async throws {
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: try await create()
      case 2: select { .suspendTasks($0) }
      case 3: select { .resumeTasks($0) }
      case 4: try cancel()
      case 5, 6, 7: try endRun()
      case 8: try await acknowledge(atMost: 2)
      case 9:
        client.disconnect()
        try await attach()
      case 10: try setStorage(broken: !storageIsBroken)
      default:
        await fixture.advance(by: Double.random(in: 0...60, using: &random))
        if random.chance(in: 3) { try await restart() }
      }
      await fixture.settle()
      await fixture.settle()
    }

    func attach() async throws {
      checkEvents()
      ended.append(client)
      acknowledgedBefore = acknowledged
      client = fixture.client()
      try await client.begin()
    }

    private func create() async throws {
      let task = tasks.count + 1
      let running = !random.chance(in: 4)
      tasks[task] = try await client.create([.download("http://h\(task % 3)/", task: task, running: running)]).first
    }

    private func select(_ request: (TaskSelection) -> ClientRequest) {
      let chosen = tasks.keys.sorted().filter { _ in random.chance(in: 2) }
      client.tell(request(TaskSelection(session: "s", taskIdentifiers: chosen)))
    }

    private func cancel() throws {
      guard let (task, id) = tasks.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
      if try fixture.store.transfer(id)?.head.state != .completed { cancelled.insert(task) }
      client.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: task)))
    }

    private func endRun() throws {
      guard let id = runner.running.randomElement(using: &random) else { return }
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1, message: "broken")
      switch Int.random(in: 0..<5, using: &random) {
      case 0: runner.end(id, .failed(failure, nil, received: 0))
      case 1: runner.end(id, .retry(failure, kept: KeptBytes(random.chance(in: 2) ? 1 << 20 : 0), received: 0))
      case 2: runner.end(id, .noSpace(needed: 1, available: 0))
      default: try runner.finish(id, in: fixture)
      }
    }

    func acknowledge(atMost count: Int) async throws {
      let open = client.events.map(\.sequence).filter { !acknowledged.contains($0) }.prefix(count)
      guard !open.isEmpty else { return }
      guard try await client.ask(.acknowledge(Acknowledge(session: "s", sequences: Array(open)))) == .done else {
        return
      }
      acknowledged.formUnion(open)
    }

    func setStorage(broken: Bool) throws {
      guard broken != storageIsBroken else { return }
      storageIsBroken = broken
      if broken { try fixture.breakQueue() } else { try fixture.mendQueue() }
    }

    private func restart() async throws {
      try setStorage(broken: false)
      // A cancellation that is not written yet does not outlive the service.
      try await eventually("every cancellation to be written") {
        try cancelled.allSatisfy { try fixture.store.transfer(tasks[$0] ?? 0)?.head.state == .completed }
      }
      fixture = try await fixture.nextLife()
      try await attach()
    }

    /// Nothing fails any more: every task has to come to its end.
    func finish() async throws {
      try setStorage(broken: false)
      client.disconnect()
      try await attach()
      let app = try fixture.store.app(for: client.peer.executable)
      try await eventually("everything to be over and acknowledged") {
        client.tell(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: Array(tasks.keys))))
        await fixture.advance(by: 700)
        for id in runner.running { try runner.finish(id, in: fixture) }
        await fixture.settle()
        try await acknowledge(atMost: 100)
        return try fixture.store.transferCount(of: app) == 0
      }
      checkEvents()
      ended.append(client)
    }

    func checkEvents() {
      let sequences = client.events.map(\.sequence)
      #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
      #expect(acknowledgedBefore.isDisjoint(with: sequences))
    }

    func checkEnds() {
      var completions: [Int: Set<Int64>] = [:]
      var files: [Int: Set<Int64>] = [:]
      for event in ended.flatMap(\.events) {
        if event.completion != nil { completions[event.taskIdentifier, default: []].insert(event.sequence) }
        if event.download != nil { files[event.taskIdentifier, default: []].insert(event.sequence) }
      }
      for task in tasks.keys.sorted() {
        #expect(completions[task]?.count == 1, "task \(task) ended \(completions[task]?.count ?? 0) times")
        #expect((files[task]?.count ?? 0) <= 1, "task \(task) delivered more than one file")
        if cancelled.contains(task) { #expect(files[task] == nil, "the cancelled task \(task) delivered a file") }
      }
      #expect(runner.startedTwice == [])
    }
  }

  @Test(arguments: 0..<16) func everyTaskEndsOnceAndEveryEventArrives(seed: UInt64) async throws {
    let runner = ScriptedRunner()
    try await withEngine(
      runner: runner,
      {
        $0.storagePatience = 0.005
        $0.deliveryWindow = 3
      }
    ) { fixture in
      let history = History(seed: seed, fixture: fixture, runner: runner)
      try await history.client.begin()
      for _ in 0..<60 { try await history.step() }
      try await history.finish()
      history.checkEnds()
    }
  }
}
