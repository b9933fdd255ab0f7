import Foundation
import TransferProtocol

/// Answers of servers as the queue may hold them: without the fields of responses, such as `Set-Cookie`, and without what the
/// metrics say of each request. Status, URL and lengths stay readable. Those of earlier versions of the service were not
/// sealed, and are read as they are.
///
/// An answer goes through the service as the queue has it, and is opened where an app is told of it.
extension QueueKey {
  enum OpenedAnswer<Answer> {
    case open(Answer)
    /// The keychain or the file has the key and can't be read now. The answer is without the sealed parts.
    case locked(Answer)
    /// There is no key any more that opens it. The answer is without the sealed parts.
    case lost(Answer)

    /// All of it, or the rest without the sealed parts.
    var known: Answer {
      switch self {
      case .open(let answer), .locked(let answer), .lost(let answer): answer
      }
    }
  }

  /// A number is never used for another transfer, and stays in a queue that is made anew.
  /// The purposes of requests end with tokens, which apps choose: none of them begins like these.
  static func fieldsPurpose(of id: TransferID) -> String { "the response of transfer \(id)" }
  private static func metricsPurpose(of id: TransferID) -> String { "the requests of transfer \(id)" }

  // MARK: Sealing

  /// The same where it is sealed already.
  ///
  /// - Parameter isInQueue: whether an earlier version has left it in the queue in clear. It stays so as long as the only key
  ///   is one that ends with the service, which would make it unreadable for the next one.
  func sealed(_ response: ResponseSummary, of id: TransferID, isInQueue: Bool = false) -> ResponseSummary {
    guard !response.headers.isEmpty else { return response }
    let fields = try? MessageFraming.encode(response.headers)
    let sealed = fields.flatMap { sealAnswer($0, for: QueueKey.fieldsPurpose(of: id), isInQueue: isInQueue) }
    if isInQueue, sealed == nil { return response }
    var response = response
    response.sealedHeaders = sealed
    response.headers = []
    return response
  }

  /// - Parameter responseIsInQueue: whether its response is the one that the queue has.
  func sealed(_ completion: Completion, of id: TransferID, responseIsInQueue: Bool = false) -> Completion {
    var completion = completion
    completion.response = completion.response.map { sealed($0, of: id, isInQueue: responseIsInQueue) }
    if let transactions = completion.transactions, !transactions.isEmpty {
      let content = try? MessageFraming.encode(transactions)
      completion.sealedTransactions = content.flatMap { sealAnswer($0, for: QueueKey.metricsPurpose(of: id)) }
      completion.transactions = nil
    }
    return completion
  }

  // MARK: Opening

  func opened(_ response: ResponseSummary, of id: TransferID) -> OpenedAnswer<ResponseSummary> {
    guard let sealed = response.sealedHeaders else { return .open(response) }
    var response = response
    response.sealedHeaders = nil
    switch unsealFields(sealed, for: QueueKey.fieldsPurpose(of: id)) {
    case .open(let content):
      guard let fields = try? MessageFraming.decode([HeaderField].self, from: content) else { return .lost(response) }
      response.headers = fields
      return .open(response)
    case .locked: return .locked(response)
    case .lost: return .lost(response)
    }
  }

  func opened(_ completion: Completion, of id: TransferID) -> OpenedAnswer<Completion> {
    var completion = completion
    var (isLocked, isLost) = (false, false)
    switch completion.response.map({ opened($0, of: id) }) {
    case .open(let response): completion.response = response
    case .locked(let response): (completion.response, isLocked) = (response, true)
    case .lost(let response): (completion.response, isLost) = (response, true)
    case nil: break
    }
    if let sealed = completion.sealedTransactions {
      completion.sealedTransactions = nil
      switch unsealFields(sealed, for: QueueKey.metricsPurpose(of: id)) {
      case .open(let content):
        completion.transactions = try? MessageFraming.decode([TransactionDescription].self, from: content)
        isLost = isLost || completion.transactions == nil
      case .locked: isLocked = true
      case .lost: isLost = true
      }
    }
    return isLocked ? .locked(completion) : isLost ? .lost(completion) : .open(completion)
  }
}
