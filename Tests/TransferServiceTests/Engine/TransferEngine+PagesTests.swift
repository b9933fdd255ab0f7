import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Lists of transfers.
@Suite struct TransferEnginePagesTests {

  @Test func hidesTransfersFromOtherApps() async throws {
    try await withEngine { fixture in
      let owner = fixture.client()
      try await owner.begin()
      let id = try await owner.create([.download("http://h/", running: false)])[0]
      let stranger = fixture.client("/stranger")
      try await stranger.greet()
      #expect(try await stranger.refusal(.showTransfer(TransferReference(transfer: id))) == .unknownTask)
      #expect(try await stranger.refusal(.cancelTransfer(TransferReference(transfer: id))) == .unknownTask)
      for request: ClientRequest in [.listTransfers(ListTransfers()), .watch(Watch()), .watch(Watch(transfers: [id]))] {
        guard case .transfers(let page) = try await stranger.ask(request) else {
          Issue.record("\(request) was refused")
          continue
        }
        #expect(page.transfers.isEmpty)
      }
      // A second process of the app sees and may cancel it without holding the session.
      let observer = fixture.client()
      try await observer.greet()
      guard case .transfers(let page) = try await observer.ask(.watch(Watch())) else {
        Issue.record("refused")
        return
      }
      #expect(page.transfers.map(\.transfer) == [id])
      guard case .transfer(let shown) = try await observer.ask(.showTransfer(TransferReference(transfer: id))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.status.state == .suspended && shown.status.waiting?.code == "suspended")
      #expect(try await observer.ask(.cancelTransfer(TransferReference(transfer: id))) == .done)
      let change = try await observer.next { if case .transferChanged(let status) = $0 { status } else { nil } }
      #expect(change.transfer == id && change.state == .completed)
      #expect(change.failure?.code == URLError.Code.cancelled.rawValue)
      #expect(stranger.messages.all.allSatisfy { if case .push = $0 { false } else { true } })
    }
  }

  @Test func listsManyTasksInPages() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create((1...1_200).map { .download("http://h/\($0)", task: $0, running: false) })
      #expect(ids.count == 1_200)
      var page = try #require(try await client.attach()).page
      var seen = page.tasks.map(\.description.taskIdentifier)
      while let next = page.next {
        guard case .tasks(let more) = try await client.ask(.sessionTasks(SessionTasks(session: "s", after: next)))
        else {
          Issue.record("refused")
          return
        }
        page = more
        seen += page.tasks.map(\.description.taskIdentifier)
      }
      #expect(seen == Array(1...1_200))
    }
  }

  /// Tasks of the largest size that is accepted fit into a reply.
  @Test func theLargestTasksFitIntoPages() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      for task in 1...3 {
        var description = TransferDescription.download("http://h/", task: task, running: false)
        description.taskDescription = String(repeating: "x", count: TransferDescription.maximumLength - 1_000)
        description.request.body = Data(count: RequestDescription.maximumBodyLength)
        #expect(try await client.create([description]).count == 1)
      }
      var after = 0
      for task in 1...3 {
        guard case .tasks(let page) = try await client.ask(.sessionTasks(SessionTasks(session: "s", after: after)))
        else {
          Issue.record("refused")
          return
        }
        #expect(page.tasks.map(\.description.taskIdentifier) == [task])
        #expect(
          try MessageFraming.frame(ServiceMessage.reply(to: 1, .tasks(page))).count < MessageFraming.maximumLength)
        after = page.next ?? 0
      }
    }
  }
}
