import Foundation

/// Why a transfer is not running and when that will be looked at again.
package struct WaitingStatus: Codable, Sendable, Equatable {
  /// A stable word for programs: `retry`, `hostBusy`, `noSpace`, …
  package var code: String
  /// A sentence for people.
  package var sentence: String
  /// When it will be tried again, by the wall clock; nil when that depends on something else.
  package var nextAttempt: Date?

  package init(code: String, sentence: String, nextAttempt: Date? = nil) {
    self.code = code
    self.sentence = sentence
    self.nextAttempt = nextAttempt
  }
}
