import ArgumentParser

/// The option about the end of a transfer on the desktop.
struct NotificationOptions: ParsableArguments {
  @Flag(
    inversion: .prefixedNo,
    help: "Show the end on the desktop, where there is one. Without either: unless URLSESSION_NOTIFY is 0.")
  var notify: Bool?

  var isWanted: Bool { notify ?? DownloadNotification.isWanted() }

  /// Whether this process tells of an end that it hears of: the user of a command that waits sees it in the terminal.
  func showsEnd(whileWaiting waits: Bool) -> Bool { !waits || notify == true }
}
