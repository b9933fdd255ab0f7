import ArgumentParser
import TransferProtocol

/// The line of the live view in which a rate is typed for a transfer: a value that is told of keys.
struct TopLimitPrompt: Sendable, Equatable {
  enum Outcome: Equatable {
    case typing
    /// No rate means that the limits of the transfer are removed.
    case given(BandwidthLimit)
    case refused(String)
    case left
  }

  /// Longer than any rate.
  private static let longest = 20

  let transfer: Int64
  private(set) var text = ""

  init(transfer: Int64) { self.transfer = transfer }

  /// The typed text comes first, since a narrow screen cuts the end.
  var line: String { "Limit of transfer \(transfer): \(text)_  (500K, 1.5MiB; nothing: no limit; Escape: leave)" }

  mutating func handle(_ key: TopKey) -> Outcome {
    switch key {
    case .character(let character):
      if text.count < Self.longest { text.append(character) }
    case .backspace: _ = text.popLast()
    case .enter:
      do {
        let rate = text.isEmpty ? nil : try RateArgument.parse(text)
        return .given(BandwidthLimit(bytesPerSecond: rate, hours: nil))
      } catch {
        return .refused((error as? ValidationError)?.message ?? "\(error)")
      }
    case .escape, .interrupt: return .left
    case .up, .down, .pageUp, .pageDown: break
    }
    return .typing
  }
}
