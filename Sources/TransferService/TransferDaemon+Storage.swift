import Foundation
import NIOPosix
import Synchronization
import SystemServices
import TransferProtocol

extension TransferDaemon {
  /// The folder of the service or its queue could not be used for as long as the start was waited for.
  package struct StorageUnavailable: Error, CustomStringConvertible {
    package let sentence: String
    package var description: String { "the service waits for its storage: \(sentence)" }
  }

  /// Seconds from a try to the next: they double.
  private static let firstPause: TimeInterval = 0.25
  private static let longestPause: TimeInterval = 10

  /// Starts the service, however long its storage can't be used: a disk that is full, read-only, broken or closed says nothing
  /// against the queue. Until then connections are refused with the reason, and apps and commands ask again.
  ///
  /// It keeps the locks meanwhile, so that no other service is started for the same queue.
  ///
  /// - Parameter pause: waits for so many seconds; false where it is not to be tried again.
  /// - Throws: `StorageUnavailable` then.
  package static func start(
    _ configuration: Configuration, pausing pause: (TimeInterval) async throws -> Bool
  ) async throws -> TransferDaemon {
    var locks = Locks()
    let waiting = WaitingStart(configuration)
    var seconds = firstPause
    while true {
      do {
        // The one that waits takes that lock itself once its folder is there again.
        if locks.socket == nil { await waiting.end() }
        let result = await take(locks, configuration)
        locks = result.locks
        if let error = result.error { throw error }
        let prepared = try await prepare(configuration, locks)
        await waiting.end()
        return try await serve(prepared)
      } catch {
        guard let sentence = StorageFault.sentence(ofStart: error, in: configuration.stateDirectory) else {
          await waiting.end()
          throw error
        }
        await waiting.failed(sentence, locks)
        let goesOn: Bool
        do { goesOn = try await pause(seconds) } catch {
          await waiting.end()
          throw error
        }
        guard goesOn else {
          await waiting.end()
          throw StorageUnavailable(sentence: sentence)
        }
        seconds = min(seconds * 2, longestPause)
      }
    }
  }

  private static func take(
    _ locks: Locks, _ configuration: Configuration
  ) async -> (locks: Locks, error: (any Error)?) {
    do {
      return try await NIOThreadPool.singleton.runIfActive {
        var locks = locks
        do { try locks.takeMissing(configuration) } catch { return (locks, error) }
        return (locks, nil)
      }
    } catch { return (locks, error) }
  }
}

/// Answers connections while the storage of a service that starts can't be used.
private final class WaitingStart: Sendable {
  private let configuration: TransferDaemon.Configuration
  private let sentence = Mutex("")
  private let server = Mutex<TransferServer?>(nil)

  init(_ configuration: TransferDaemon.Configuration) { self.configuration = configuration }

  /// Logs a reason that is new. Listens where it does not yet: where the socket can't be bound either, apps find the reason in the
  /// log.
  func failed(_ reason: String, _ locks: TransferDaemon.Locks) async {
    let isNew = sentence.withLock { sentence in
      defer { sentence = reason }
      return sentence != reason
    }
    if isNew { configuration.log.error("the service waits for its storage: \(reason)") }
    guard server.withLock({ $0 == nil }) else { return }
    do {
      let new = try await listen(locks)
      server.withLock { $0 = new }
    } catch { if isNew { configuration.log.warning("apps are not told of it: \(error)") } }
  }

  private func listen(_ locks: TransferDaemon.Locks) async throws -> TransferServer {
    let endpoint: TransferServer.Endpoint
    if let adopted = configuration.adoptedSocket {
      // The server closes its descriptor, and the service needs the socket.
      let copy = fcntl(adopted, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { throw SystemError(errno, "dup") }
      endpoint = .adopted(copy)
    } else {
      endpoint = .path(configuration.socketPath)
    }
    let second = TransferDaemon.socketPath(stateDirectory: configuration.stateDirectory)
    return try await TransferServer.startRefusing(
      at: endpoint, lock: locks.socket,
      // Without the lock of the state another service may have its socket there.
      secondPath: locks.state == nil || configuration.socketPath == second ? nil : second, log: configuration.log
    ) { [self] in
      Refusal(
        .storage, sentence.withLock { "The transfer service waits for its storage, and goes on by itself. \($0)" })
    }
  }

  func end() async {
    let former = server.withLock { $0.take() }
    await former?.close(unlocking: true)
  }
}
