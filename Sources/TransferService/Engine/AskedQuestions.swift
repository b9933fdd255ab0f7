import DequeModule
import TransferProtocol

/// The questions that apps have not answered, and the transfers that wait to be asked about. A value.
struct AskedQuestions {
  /// How many questions of one session about delayed requests are open at a time.
  static let openLimit = 64

  private struct Line {
    var order: Deque<TransferID> = []
    /// Those of the order that are not over.
    var members: Set<TransferID> = []
  }

  private var asked: [UInt64: AskedQuestion] = [:]
  private var ofTransfers: [TransferID: Set<UInt64>] = [:]
  private var ofSessions: [SessionID: Set<UInt64>] = [:]
  private var delayedCounts: [SessionID: Int] = [:]
  private var lines: [SessionID: Line] = [:]

  var count: Int { asked.count }

  subscript(number: UInt64) -> AskedQuestion? { asked[number] }

  func of(transfer: TransferID) -> Set<UInt64> { ofTransfers[transfer] ?? [] }

  func of(session: SessionID) -> Set<UInt64> { ofSessions[session] ?? [] }

  mutating func add(_ question: AskedQuestion, _ number: UInt64) {
    guard asked.updateValue(question, forKey: number) == nil else { return }
    ofTransfers[question.transfer, default: []].insert(number)
    ofSessions[question.session, default: []].insert(number)
    if question.isAboutDelay { delayedCounts[question.session, default: 0] += 1 }
  }

  mutating func setConnection(_ connection: UInt64, of number: UInt64) { asked[number]?.connection = connection }

  mutating func remove(_ number: UInt64) -> AskedQuestion? {
    guard let question = asked.removeValue(forKey: number) else { return nil }
    ofTransfers[question.transfer]?.remove(number)
    if ofTransfers[question.transfer]?.isEmpty == true { ofTransfers[question.transfer] = nil }
    ofSessions[question.session]?.remove(number)
    if ofSessions[question.session]?.isEmpty == true { ofSessions[question.session] = nil }
    if question.isAboutDelay {
      delayedCounts[question.session, default: 0] -= 1
      if delayedCounts[question.session] == 0 { delayedCounts[question.session] = nil }
    }
    return question
  }

  // MARK: Waiting to be asked about

  /// How many more questions about delayed requests the session may have.
  func room(of session: SessionID) -> Int { max(0, Self.openLimit - (delayedCounts[session] ?? 0)) }

  /// One that waits already keeps its place.
  mutating func wait(_ transfer: TransferID, _ session: SessionID) {
    guard lines[session, default: Line()].members.insert(transfer).inserted else { return }
    lines[session]?.order.append(transfer)
  }

  /// - Returns: those that have waited longest, no longer in the line.
  mutating func takeWaiting(_ session: SessionID, _ count: Int) -> [TransferID] {
    var taken: [TransferID] = []
    while taken.count < count, let next = lines[session]?.order.popFirst() {
      if lines[session]?.members.remove(next) != nil { taken.append(next) }
    }
    if lines[session]?.members.isEmpty == true { lines[session] = nil }
    return taken
  }

  /// The transfer is over.
  mutating func forgetWaiting(_ transfer: TransferID, _ session: SessionID) {
    lines[session]?.members.remove(transfer)
    if lines[session]?.members.isEmpty == true { lines[session] = nil }
  }
}

extension AskedQuestion {
  fileprivate var isAboutDelay: Bool {
    if case .delayedRequest = subject { true } else { false }
  }
}
