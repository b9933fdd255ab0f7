import Foundation
import Testing
import TransferProtocol

/// Elements take many times the memory that they take in a message.
@Suite struct KeyedDecodingContainerListsTests {
  private static let limit = MessageFraming.maximumListCount

  private static func requests(_ count: Int) -> [ClientRequest] {
    let numbers = Array(1...count)
    let task = TransferDescription(token: "t", taskIdentifier: 1, request: RequestDescription(url: "http://h/"))
    return [
      .acknowledge(Acknowledge(session: "s", sequences: numbers.map(Int64.init))),
      .keepEvents(Acknowledge(session: "s", sequences: numbers.map(Int64.init))),
      .suspendTasks(TaskSelection(session: "s", taskIdentifiers: numbers)),
      .createTasks(CreateTasks(session: "s", tasks: numbers.map { _ in task })),
      .watch(Watch(transfers: numbers.map(Int64.init))),
    ]
  }

  @Test func requestsWithLongerListsAreRefused() throws {
    for request in Self.requests(Self.limit + 1) {
      let json = try MessageFraming.encode(ClientMessage(id: 1, request: request))
      #expect(throws: DecodingError.self, "\(request.name)") {
        try MessageFraming.decode(ClientMessage.self, from: json)
      }
    }
  }

  @Test func listsOfTheLimitAreTaken() throws {
    for request in Self.requests(Self.limit) {
      let message = ClientMessage(id: 1, request: request)
      #expect(try MessageFraming.decode(ClientMessage.self, from: MessageFraming.encode(message)) == message)
    }
    let all = ClientMessage(id: 1, request: .watch(Watch()))
    #expect(try MessageFraming.decode(ClientMessage.self, from: MessageFraming.encode(all)) == all)
    let null = Data(#"{"id":1,"request":"watch","body":{"transfers":null}}"#.utf8)
    #expect(try MessageFraming.decode(ClientMessage.self, from: null) == all)
  }
}
