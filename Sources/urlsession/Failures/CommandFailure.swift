import CommandLineOutput

/// Why a command ends without success, in the words of the one line that it prints.
struct CommandFailure: Error, Sendable, Equatable {
  var status: CommandStatus
  var what: String
  var advice: String

  init(_ status: CommandStatus, _ what: String, advice: String) {
    self.status = status
    self.what = what
    self.advice = advice
  }

  /// `urlsession: what happened: what to do`
  var line: String {
    "urlsession: \(TextTable.printable(CommandFailure.withoutStop(what))): \(TextTable.printable(advice))"
  }

  private static func withoutStop(_ sentence: String) -> String {
    sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
  }
}
