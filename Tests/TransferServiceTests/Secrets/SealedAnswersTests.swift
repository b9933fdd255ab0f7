import Foundation
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Responses and metrics as the queue has them.
@Suite struct SealedAnswersTests {
  private static let response = ResponseSummary(
    url: "http://h/", status: 200, headers: [HeaderField("Set-Cookie", "a=secret")], expectedContentLength: 4)

  private static let completion: Completion = {
    var completion = Completion(
      failure: nil, response: response, countOfBytesReceived: 4, countOfBytesExpectedToReceive: 4)
    completion.transactions = [
      TransactionDescription(
        url: "http://h/", method: "GET", headers: [HeaderField("X-Own", "secret")], source: .networkLoad)
    ]
    return completion
  }()

  private func opened(file: String? = nil) async -> QueueKey {
    let key = QueueKey(ofQueue: "queue", file: file) { nil }
    await key.settle()
    return key
  }

  @Test func onlyFieldsAndRequestsAreSealed() async throws {
    let folder = try TemporaryFolder()
    let key = await opened(file: folder.path + "/key")
    let sealed = key.sealed(Self.completion, of: 7)
    #expect(try MessageFraming.encode(sealed).range(of: Data("secret".utf8)) == nil)
    #expect(sealed.response?.status == 200 && sealed.response?.expectedContentLength == 4)
    #expect(sealed.countOfBytesReceived == 4 && sealed.transactions == nil)
    #expect(key.sealed(sealed, of: 7) == sealed, "what is sealed stays as it is")
    let read = try MessageFraming.decode(Completion.self, from: MessageFraming.encode(sealed))
    guard case .open(Self.completion) = await opened(file: folder.path + "/key").opened(read, of: 7) else {
      Issue.record("not opened by the next life of the key")
      return
    }
    guard case .lost(let other) = key.opened(read, of: 8) else {
      Issue.record("opened for another transfer")
      return
    }
    #expect(other.response?.status == 200 && other.response?.headers == [] && other.transactions == nil)
    #expect(other.response?.sealedHeaders == nil && other.sealedTransactions == nil, "no app is told of it")
  }

  @Test func answersOfEarlierVersionsAreReadAsTheyAre() async {
    guard case .open(Self.completion) = await opened().opened(Self.completion, of: 7) else {
      Issue.record("changed")
      return
    }
  }

  /// Its end is not kept from being written, and the fields are nowhere in clear.
  @Test func withoutAPlaceForAKeyTheyLastAsLongAsTheService() async throws {
    let key = await opened()
    let sealed = key.sealed(Self.response, of: 7)
    #expect(sealed.headers.isEmpty && sealed.sealedHeaders != nil)
    guard case .open(Self.response) = key.opened(sealed, of: 7), case .lost = await opened().opened(sealed, of: 7)
    else {
      Issue.record("opened by another service, or not by this one")
      return
    }
  }

  /// What an earlier version has left in clear is sealed by a key that the next service has, or not at all.
  @Test func anAnswerInClearIsNotSealedByAKeyInMemory() async throws {
    let folder = try TemporaryFolder()
    let passing = await opened()
    #expect(passing.sealed(Self.response, of: 7, isInQueue: true) == Self.response)
    let sealed = passing.sealed(Self.completion, of: 7, responseIsInQueue: true)
    #expect(sealed.response == Self.response && sealed.transactions == nil && sealed.sealedTransactions != nil)
    let lasting = await opened(file: folder.path + "/key")
    let response = lasting.sealed(Self.response, of: 7, isInQueue: true)
    #expect(response.headers.isEmpty)
    guard case .open(Self.response) = await opened(file: folder.path + "/key").opened(response, of: 7) else {
      Issue.record("not opened by the next life of the key")
      return
    }
  }

  @Test func damageIsNoCrash() async throws {
    let key = await opened()
    var sealed = key.sealed(Self.completion, of: 7)
    for damaged in [Data(), Data([1]), Data([9, 9, 9]), Data(repeating: 3, count: 40)] {
      sealed.response?.sealedHeaders = damaged
      sealed.sealedTransactions = damaged
      #expect(key.opened(sealed, of: 7).known.response?.status == 200)
    }
  }
}
