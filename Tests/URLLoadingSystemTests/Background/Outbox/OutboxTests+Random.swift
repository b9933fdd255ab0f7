import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

extension OutboxTests {
  /// An app that changes its tasks, a service that refuses, and a connection that is lost, all at any moment.
  private struct World {
    enum Message {
      case creation([Outbox.Creation])
      case request(Outbox.Request, Int)
      case cancellations([Int])

      func concerns(_ task: Int) -> Bool {
        switch self {
        case .creation: false
        case .request(_, let other): other == task
        case .cancellations(let tasks): tasks.contains(task)
        }
      }
    }

    var generator: SeededGenerator
    var outbox = Outbox(maximumCount: 4, maximumWeight: 10)
    var wanted: [Int: WantedTask] = [:]
    /// What the service has on its disk.
    var service: [Int: KnownTask] = [:]
    /// The URLs of requests that the app wants, and that the service has on its disk.
    var wantedURLs: [Int: String] = [:]
    var urls: [Int: String] = [:]
    var isConnected = false
    /// Messages on their way, in order.
    var underWay: [Message] = []
    var isFlushed = false
    var isGathering = false

    mutating func gather() {
      guard isGathering else { return }
      isGathering = false
      perform(outbox.cancellationsGathered())
    }

    mutating func perform(_ actions: [Outbox.Action]) {
      for action in actions {
        switch action {
        case .create(let creations):
          #expect(isConnected && !creations.isEmpty && creations.count <= 4)
          let isAlone = underWay.allSatisfy { if case .creation = $0 { false } else { true } }
          #expect(isAlone, "two batches at a time")
          underWay.append(.creation(creations))
        case .send(let request, let task):
          #expect(isConnected && service[task] != nil, "a request about a task that the service does not have")
          #expect(!underWay.contains { $0.concerns(task) }, "two requests about a task at a time")
          underWay.append(.request(request, task))
        case .cancel(let tasks):
          #expect(isConnected && tasks.count > 1 && Set(tasks).count == tasks.count)
          let isAlone = tasks.allSatisfy { task in !underWay.contains { $0.concerns(task) } }
          #expect(isAlone, "two requests about a task at a time")
          underWay.append(.cancellations(tasks))
        case .gatherCancellations: isGathering = true
        case .pause: break
        case .fail: Issue.record("nothing is refused for good here")
        case .flushed:
          isFlushed = true
          expectEverythingToBeTold()
        }
      }
    }

    /// The service may end now: it has each task as the app wants it. Cancellations are told later.
    func expectEverythingToBeTold() {
      for (task, wanted) in wanted where wanted.cancellation == .none {
        #expect(
          service[task] == KnownTask(isSuspended: wanted.isSuspended, hints: wanted.hints),
          "flushed without task \(task)")
        #expect(urls[task] == wantedURLs[task], "flushed without the request of task \(task)")
      }
    }

    mutating func change() {
      let task = Int.random(in: 1...12, using: &generator)
      var new = wanted[task] ?? OutboxTests.wanted(suspended: Bool.random(using: &generator))
      if wanted[task] != nil {
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: new.cancellation = .plain
        // The app's changes of one request are told one after the other.
        case 2 where new.edit == nil:
          let url = "http://h/\(Int.random(in: 0..<4, using: &generator))"
          new.edit = EditTransfer(transfer: 0)
          new.edit?.url = url
          wantedURLs[task] = url
        case 1: new.hints.taskDescription = "\(Int.random(in: 0..<4, using: &generator))"
        default: new.isSuspended.toggle()
        }
      }
      let isNew = wanted[task] == nil
      wanted[task] = new
      perform(isNew ? outbox.add(task, new, weight: task % 4) : outbox.change(task, new))
    }

    /// The service acts on the first message.
    mutating func act(_ message: Message) {
      switch message {
      case .creation(let creations):
        for creation in creations where service[creation.task] == nil {
          service[creation.task] = KnownTask(isSuspended: creation.wanted.isSuspended, hints: creation.wanted.hints)
        }
      case .request(let request, let task):
        switch request {
        case .suspend: service[task]?.isSuspended = true
        case .resume: service[task]?.isSuspended = false
        case .update(_, let hints): service[task]?.hints = hints
        case .edit(let edit): urls[task] = edit.url
        case .cancel: service[task]?.isOver = true
        }
      case .cancellations(let tasks): for task in tasks { service[task]?.isOver = true }
      }
    }

    mutating func answer(isRefused: Bool) {
      guard isConnected, !underWay.isEmpty else { return }
      let message = underWay.removeFirst()
      // A service of an earlier version cancels one task at a time.
      if case .cancellations(let tasks) = message, Int.random(in: 0..<8, using: &generator) == 0 {
        return perform(outbox.cancellationEnded(tasks, .refused("unknown")))
      }
      if !isRefused { act(message) }
      let outcome: Outbox.Outcome = isRefused ? .refusedForNow : .accepted
      switch message {
      case .creation: perform(outbox.creationEnded(outcome))
      case .request(let request, let task):
        if !isRefused, case .edit(let edit) = request, wanted[task]?.edit == edit { wanted[task]?.edit = nil }
        perform(outbox.requestEnded(request, task: task, outcome))
      case .cancellations(let tasks): perform(outbox.cancellationEnded(tasks, outcome))
      }
    }

    /// The service still acts on some of the messages; nothing is answered.
    mutating func cut() {
      guard isConnected else { return }
      isConnected = false
      let count = Int.random(in: 0...underWay.count, using: &generator)
      for message in underWay.prefix(count) { act(message) }
      underWay = []
      outbox.detached()
    }

    mutating func connect() {
      guard !isConnected else { return }
      isConnected = true
      perform(outbox.attached(service))
      if Int.random(in: 0..<8, using: &generator) > 0 { perform(outbox.deliveryStarted()) }
    }
  }

  /// In the end the service has every task as the app wants it: no request is lost, whatever was.
  @Test(arguments: 0..<300) func everythingArrivesInTheEnd(seed: Int) {
    var world = World(generator: SeededGenerator(seed: UInt64(seed)))
    for _ in 0..<400 {
      switch Int.random(in: 0..<23, using: &world.generator) {
      case 0..<6: world.change()
      case 6..<13: world.answer(isRefused: false)
      case 13: world.answer(isRefused: true)
      case 14: world.cut()
      case 15, 16: world.connect()
      case 17: world.perform(world.outbox.deliveryStarted())
      case 18: world.perform(world.outbox.flush())
      case 19, 20: world.gather()
      default: world.perform(world.outbox.pauseEnded())
      }
    }
    world.connect()
    world.perform(world.outbox.deliveryStarted())
    world.isFlushed = false
    world.perform(world.outbox.flush())
    for _ in 0..<400 {
      world.perform(world.outbox.pauseEnded())
      world.gather()
      world.answer(isRefused: false)
    }
    #expect(world.underWay.isEmpty && world.isFlushed)
    #expect(Set(world.service.keys) == Set(world.wanted.keys), "tasks lost, or made by no app")
    for (task, wanted) in world.wanted {
      guard let known = world.service[task] else { continue }
      let isCancelled = wanted.cancellation != .none
      #expect(known.isOver == isCancelled, "task \(task)")
      guard !isCancelled else { continue }
      #expect(known == KnownTask(isSuspended: wanted.isSuspended, hints: wanted.hints))
      #expect(world.urls[task] == world.wantedURLs[task], "the request of task \(task)")
    }
  }
}
