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
    let again = isFirstBegin(waiting) ? "" : "again "
    return left < 1 ? "\(sentence) (\(again)now)" : "\(sentence) (\(again)in \(ByteFormat.duration(left)))"
  }

  /// The beginning of a sentence that tells when it goes on.
  static func next(_ waiting: WaitingStatus) -> String {
    if isFirstBegin(waiting) { return "It begins" }
    switch waiting.code {
    case "conditionsUnknown": return "The conditions are looked at again"
    case "keychain": return "The keychain is read again"
    case "requestChange": return "That is looked at again"
    default:
      return waiting.code.hasPrefix("discretionary.") ? "The conditions are looked at again" : "It is tried again"
    }
  }

  /// The same as the name of a row.
  static func nextLabel(_ waiting: WaitingStatus) -> String { isFirstBegin(waiting) ? "Begins" : "Tried next" }

  private static func isFirstBegin(_ waiting: WaitingStatus) -> Bool { waiting.code == "earliestBegin" }
}
