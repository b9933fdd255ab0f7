/// The result of one check of `doctor`.
struct Finding: Encodable, Sendable, Equatable {
  enum Verdict: String, Encodable, Sendable {
    case ok
    /// It works, and something may surprise.
    case warn
    /// Transfers don't work, or not for long.
    case fail
  }

  /// A stable word for programs: `socket`, `units`, …
  var check: String
  var verdict: Verdict
  var text: String
  /// How it is mended; nil where there is nothing to do.
  var advice: String?

  init(_ check: String, _ verdict: Verdict, _ text: String, advice: String? = nil) {
    self.check = check
    self.verdict = verdict
    self.text = text
    self.advice = advice
  }
}
