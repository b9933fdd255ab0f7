import LoopbackServer
import Synchronization
import SystemServices
import TransferService

/// Writes down which apps are to be launched.
final class FakeLauncher: AppLaunching {
  struct Launch: Sendable {
    let executable: ExecutableIdentity
    let session: String
    let environment: [String: String]?
    let ended: @Sendable () -> Void
  }

  let launches = Recorder<Launch>()
  private let refusal = Mutex<ExecutableIdentity.Change?>(nil)

  func refuse(_ change: ExecutableIdentity.Change?) { refusal.withLock { $0 = change } }

  func launch(
    _ executable: ExecutableIdentity, session: String, environment: [String: String]?,
    ended: @escaping @Sendable () -> Void
  ) throws {
    if let change = refusal.withLock({ $0 }) { throw change }
    launches.record(Launch(executable: executable, session: session, environment: environment, ended: ended))
  }
}
