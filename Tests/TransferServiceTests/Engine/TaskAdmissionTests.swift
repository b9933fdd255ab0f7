import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Which tasks the service takes.
@Suite struct TaskAdmissionTests {
  static let refused: [(description: @Sendable (inout TransferDescription) -> Void, reason: Refusal.Reason)] = [
    ({ $0.token = "" }, .invalidRequest),
    ({ $0.taskIdentifier = 0 }, .invalidRequest),
    ({ $0.taskIdentifier = .max }, .invalidRequest),
    ({ $0.kind = .upload }, .invalidRequest),
    (
      {
        $0.kind = .upload
        $0.upload = UploadDescription(path: "relative")
      }, .invalidRequest
    ),
    ({ $0.upload = UploadDescription(path: "/file") }, .invalidRequest),
    ({ $0.request.body = Data(count: RequestDescription.maximumBodyLength + 1) }, .tooLarge),
    ({ $0.taskDescription = String(repeating: "x", count: TransferDescription.maximumLength) }, .tooLarge),
    // Two bytes each in the task's JSON.
    ({ $0.taskDescription = String(repeating: "\"", count: TransferDescription.maximumLength / 2) }, .tooLarge),
    ({ $0.request.headers = [HeaderField("X", String(repeating: "x", count: 2 << 20))] }, .tooLarge),
  ]

  @Test(arguments: [
    ("https://Example.com:8443/a", "example.com"), ("http://example.com./", "example.com"), ("http://[::1]:80/", "::1"),
    ("https://example.com:443", "example.com"), ("about:invalid", ""), ("http://", ""),
  ])
  func allPortsOfAMachineAreOneHost(url: String, host: String) {
    #expect(TaskAdmission.hostName(url) == host)
  }

  @Test(arguments: refused.indices)
  func refusesTasksThatCannotBeCarried(index: Int) async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      var description = TransferDescription.download("http://h/", running: false)
      Self.refused[index].description(&description)
      let request = CreateTasks(session: "s", tasks: [.download("http://h/", task: 5, running: false), description])
      #expect(try await client.refusal(.createTasks(request)) == Self.refused[index].reason)
      // None of the batch was taken.
      guard case .tasks(let page) = try await client.ask(.sessionTasks(SessionTasks(session: "s", after: 0))) else {
        Issue.record("refused")
        return
      }
      #expect(page.tasks.isEmpty)
    }
  }
}
