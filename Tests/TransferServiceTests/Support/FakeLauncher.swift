import Dispatch
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

  private let held = Mutex<(path: String, end: DispatchSemaphore)?>(nil)
  private let endsThem = Mutex(false)
  /// The paths of programs whose starts wait, or have waited.
  let waits = Recorder<String>()

  /// Processes have ended before their start is known.
  func endsAtOnce() { endsThem.withLock { $0 = true } }

  /// The file system of that program hangs until `release`.
  func hold(_ path: String) { held.withLock { $0 = (path, DispatchSemaphore(value: 0)) } }

  func release() {
    let end = held.withLock { held in
      defer { held = nil }
      return held?.end
    }
    end?.signal()
  }

  func refuse(_ change: ExecutableIdentity.Change?) { refusal.withLock { $0 = change } }

  func launch(
    _ executable: ExecutableIdentity, session: String, environment: [String: String]?, isAwaited: () -> Bool,
    ended: @escaping @Sendable () -> Void
  ) throws {
    if let held = held.withLock({ $0 }), held.path == executable.path {
      waits.record(executable.path)
      held.end.wait()
      held.end.signal()
    }
    guard isAwaited() else { throw CancellationError() }
    if let change = refusal.withLock({ $0 }) { throw change }
    if endsThem.withLock({ $0 }) { ended() }
    launches.record(Launch(executable: executable, session: session, environment: environment, ended: ended))
  }
}
