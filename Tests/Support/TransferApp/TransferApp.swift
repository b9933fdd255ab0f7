import Foundation
import TransferScript
import URLLoadingSystem

/// An app with a background session, for tests: it does what its plan and its standard input say, logs every call that
/// its delegate gets, and ends when its input does.
@main
struct TransferApp {
  static func main() async throws {
    let script = try AppScript()
    var entry = AppEntry(.started)
    entry.session = URLSessionApplication.shared.launchSessionIdentifier
    script.log(entry)
    if URLSessionApplication.shared.launchSessionIdentifier != nil { script.reached(.launch) }
    if await URLSessionApplication.shared.run(EventHandler(script: script)) {
      script.log(AppEntry(.launchHandled))
      return
    }
    let session = SessionDelegate(script: script).makeSession(script.plan.session)
    script.log(AppEntry(.sessionMade))
    let commands = CommandReader(session: session, script: script)
    var number = 0
    while let line = readLine() {
      number += 1
      try await commands.perform(JSONDecoder().decode(AppCommand.self, from: Data(line.utf8)), number: number)
    }
  }
}

/// What the app does when the transfer service has started it.
final class EventHandler: URLSessionApplicationDelegate {
  private let script: AppScript

  init(script: AppScript) { self.script = script }

  func application(
    _ application: URLSessionApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping @Sendable () -> Void
  ) {
    if script.reached(.inHandleEvents) == .sayDoneAndExit { return completionHandler() }
    _ = SessionDelegate(script: script, whenEventsAreHandled: completionHandler).makeSession(identifier)
    script.log(AppEntry(.sessionMade))
  }
}
