import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization
import SystemServices

/// The service's socket at its path, bound again when the path is gone or leads to another file: a folder of the runtime
/// is emptied at logout, or cleaned by another program. Connections that are there stay.
///
/// It looks after the path when a name in its folder changes, and when another process tries to start a service, since an
/// app that does not find the socket does that. It takes no path whose lock another service has, and none where another
/// process listens, such as the user's service manager: then this service has been replaced.
///
/// Its state is behind a mutex, and is changed by one task after another: `open`, then `keep`, then `close`.
final class ListeningSocket: Sendable {
  private struct State {
    var channel: (any Channel)?
    /// The file of the socket that `channel` listens on. It stays open, so no other file gets its number.
    var file: FileIdentity?
    var lock: FileLock?
    var keeper: Task<Void, Never>?
    /// The last failure that was logged.
    var failure: String?
    var failures = 0
    /// Whether the service serves, with this socket or another one.
    var isOpen = false
    var timer: Scheduled<Void>?
  }

  /// Another service has the lock of the path.
  private struct Taken: Error, CustomStringConvertible {
    let path: String
    var description: String { "another transfer service has the lock of \(path)" }
  }

  /// Another process listens at the path.
  private struct Replaced: Error {}

  private let path: String
  /// Whether a folder that is gone is made again for the socket.
  private let makesFolder: Bool
  private let replaced: @Sendable () -> Void
  private let listen: @Sendable (Int32) async throws -> any Channel
  private let log: Logger
  private let watcher: PathWatcher?
  private let changes: AsyncStream<Void>
  private let changed: AsyncStream<Void>.Continuation
  private let state: Mutex<State>

  /// The pause after the first of several failures; it doubles with each.
  private static let pause = TimeAmount.seconds(1)
  private static let mostDoublings = 5
  /// How often the path is looked at where changes are not told.
  private static let interval = TimeAmount.seconds(10)

  private var folder: String { (path as NSString).deletingLastPathComponent }
  private var lockPath: String { path + ".lock" }

  /// Binds the socket, with mode 0600. What is there already is removed.
  ///
  /// - Parameters:
  ///   - lock: of the path; nil takes it.
  ///   - startAttempts: a file that another service opens when it starts.
  ///   - mayWait: whether a path that can't be bound now is bound when it can be.
  ///   - makesFolder: Whether its folder is made where that is missing. Else the socket waits for it.
  ///   - replaced: called when another process listens at the path, perhaps more than once.
  ///   - listen: begins to listen on a socket that is bound, and owns its descriptor then.
  static func open(
    _ path: String, lock: FileLock?, startAttempts: String?, mayWait: Bool = false, makesFolder: Bool = true,
    log: Logger,
    replaced: @escaping @Sendable () -> Void = {},
    listen: @escaping @Sendable (Int32) async throws -> any Channel
  ) async throws -> ListeningSocket {
    let socket = ListeningSocket(
      path, lock: lock, makesFolder: makesFolder, log: log, replaced: replaced, listen: listen)
    do { try await socket.restore() } catch let error as SystemError where mayWait {
      log.warning("the socket \(path) can't be bound yet: \(error)")
    }
    socket.state.withLock { $0.isOpen = true }
    if let startAttempts { socket.watcher?.watch(openingOf: startAttempts) }
    let keeper = Task { [weak socket, changes = socket.changes] in
      for await _ in changes { await socket?.keep() }
    }
    socket.state.withLock { $0.keeper = keeper }
    socket.changed.yield()
    return socket
  }

  private init(
    _ path: String, lock: FileLock?, makesFolder: Bool, log: Logger, replaced: @escaping @Sendable () -> Void,
    listen: @escaping @Sendable (Int32) async throws -> any Channel
  ) {
    self.path = path
    self.makesFolder = makesFolder
    self.replaced = replaced
    self.listen = listen
    self.log = log
    state = Mutex(State(lock: lock))
    let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.changes, self.changed) = (changes, changed)
    watcher = PathWatcher { changed.yield() }
  }

  deinit { changed.finish() }

  /// Stops listening and removes the path, unless it is another's by now.
  ///
  /// - Parameter unlocks: whether a lock that it has taken is given back at once, and not with this value.
  func close(unlocking unlocks: Bool = false) async {
    changed.finish()
    await state.withLock { $0.keeper }?.value
    state.withLock { $0.timer }?.cancel()
    let (channel, file) = state.withLock { ($0.channel, $0.file) }
    try? await NIOThreadPool.singleton.runIfActive { [path] in
      if let file, FileIdentity(path: path) == file { try LinuxFileSystem().remove(path) }
    }
    try? await channel?.close().get()
    if unlocks { state.withLock { $0.lock = nil } }
  }

  private func keep() async {
    do {
      if try await restore() { log.notice("the socket \(path) was gone; it is bound again") }
      state.withLock { ($0.failure, $0.failures) = (nil, 0) }
      if watcher == nil { lookAgain(in: ListeningSocket.interval) }
    } catch is Replaced {
      replaced()
    } catch {
      let failure = "\(error)"
      let (isNew, earlier) = state.withLock { state in
        defer { (state.failure, state.failures) = (failure, state.failures + 1) }
        return (state.failure != failure, state.failures)
      }
      if isNew { log.error("the socket \(path) is gone and can't be bound again yet: \(failure)") }
      lookAgain(in: ListeningSocket.pause * (1 << min(earlier, ListeningSocket.mostDoublings)))
    }
  }

  private func lookAgain(in pause: TimeAmount) {
    let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: pause) { [changed] in
      _ = changed.yield()
    }
    let former = state.withLock { state in
      defer { state.timer = timer }
      return state.timer
    }
    former?.cancel()
  }

  /// Makes sure that the path leads to our socket. Returns whether it had to be bound.
  @discardableResult
  private func restore() async throws -> Bool {
    typealias Bound = (descriptor: Int32, file: FileIdentity?)
    let bound = try await NIOThreadPool.singleton.runIfActive { [path] () -> Bound? in
      guard try self.prepare() else { return nil }
      return (try UnixListener.bind(path), FileIdentity(path: path))
    }
    guard let bound else { return false }
    // The event loop closes the descriptor, also where this fails.
    let channel = try await listen(bound.descriptor)
    let former = state.withLock { state in
      defer { (state.channel, state.file) = (channel, bound.file) }
      return state.channel
    }
    try? await former?.close().get()
    // The folder may have been replaced before it was watched.
    changed.yield()
    return true
  }

  /// Makes the place for the socket. Returns whether it has to be bound. Looks at files.
  private func prepare() throws -> Bool {
    // First, so that no change is missed after the look.
    watcher?.watch(folder: folder)
    let (file, held, isOpen) = state.withLock { ($0.file, $0.lock, $0.isOpen) }
    if let file, FileIdentity(path: path) == file { return false }
    if makesFolder { try PrivateDirectory.ensure(folder) } else { try PrivateDirectory.check(folder) }
    watcher?.watch(folder: folder)
    if held?.isHeld(as: lockPath) != true {
      guard let lock = try FileLock.acquire(lockPath) else { throw Taken(path: path) }
      state.withLock { $0.lock = lock }
    }
    // At the start there may be a socket of an earlier service.
    if isOpen, UnixListener.isAnswered(path) { throw Replaced() }
    try LinuxFileSystem().remove(path)
    return true
  }
}
