import ArgumentParser
import TransferProtocol

/// The root of the commands.
struct URLSessionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "urlsession",
    abstract: "Loads URLs, here and now or in the background.",
    discussion: """
      `get` loads while you wait. `download` and `upload` hand a transfer to the transfer service, which goes on when \
      this program, the terminal or the service itself ends; `list`, `show`, `why`, `wait`, \
      `pause`, `resume`, `retry`, `edit`, `limit`, `cancel`, `top`, `web` and `log` look after the transfers of every app, \
      and `doctor` after the service. `cookies` and `cache` show what apps of this user keep.

      Exit codes: 0 success, 1 transfer failed, 22 HTTP status of 400 or above or, of a file, not 2xx, 23 output can't \
      be written, 28 timed out, 64 usage, 65 other content than expected, 66 unknown transfer, 69 transfer service \
      unavailable, 75 cancelled, 130 interrupted, 143 terminated.
      """,
    version: ProgramVersion.current,
    subcommands: [
      GetCommand.self, DownloadCommand.self, UploadCommand.self, ListCommand.self, ShowCommand.self, WaitCommand.self,
      CancelCommand.self,
      CookiesCommand.self,
      CacheCommand.self, LimitCommand.self,
      PauseCommand.self, ResumeCommand.self, RetryCommand.self, EditCommand.self, WhyCommand.self, LogCommand.self,
      TopCommand.self, DoctorCommand.self,
      WebCommand.self,
    ])
}
