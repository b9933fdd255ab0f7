import CommandLineOutput
import Foundation
import TransferProtocol

/// Why a transfer does not run and when that changes.
enum WaitingText {
  /// `The server can't be reached (again in 0:12)`
  static func text(_ waiting: WaitingStatus, now: Date = Date()) -> String {
    var sentence = waiting.sentence
    if sentence.hasSuffix(".") { sentence.removeLast() }
    guard let next = waiting.nextAttempt else { return sentence }
    let left = next.timeIntervalSince(now)
    return left < 1 ? "\(sentence) (again now)" : "\(sentence) (again in \(ByteFormat.duration(left)))"
  }
}
