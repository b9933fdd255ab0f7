import Testing
import TransferProtocol

/// What is left out of an event that does not fit into a message.
@Suite struct SequencedEventTests {
  private let response = ResponseSummary(url: "u", status: 200, headers: [HeaderField("A", "1")])

  @Test func transactionsAreLeftOutBeforeTheFieldsOfTheResponse() throws {
    var completion = Completion(
      failure: nil, response: response, countOfBytesReceived: 1, countOfBytesExpectedToReceive: 2)
    completion.transactions = [TransactionDescription(url: "u", method: "GET", headers: [], source: .networkLoad)]
    var event = SequencedEvent(session: "s", sequence: 1, taskIdentifier: 2, event: .completed(completion))
    completion.transactions = nil
    event = try #require(event.shortened)
    #expect(event.event == .completed(completion) && event.sequence == 1 && event.taskIdentifier == 2)
    completion.response?.headers = []
    event = try #require(event.shortened)
    #expect(event.event == .completed(completion))
    #expect(event.shortened == nil)
  }

  @Test func aFileIsToldWithoutTheFieldsOfItsResponse() throws {
    let download = FinishedDownload(path: "/p", response: response, byteCount: 1)
    let event = SequencedEvent(session: "s", sequence: 1, taskIdentifier: 2, event: .finishedDownloading(download))
    let shorter = try #require(event.shortened)
    guard case .finishedDownloading(let told) = shorter.event else {
      Issue.record("it is another event")
      return
    }
    #expect(told.path == "/p" && told.byteCount == 1 && told.response?.status == 200)
    #expect(told.response?.headers == [] && shorter.shortened == nil)
  }
}
