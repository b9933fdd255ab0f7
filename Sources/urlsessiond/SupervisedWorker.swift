import Dispatch
import Foundation
import Synchronization
import SystemServices
import TransferService

/// A worker process and the channel over which it says whether it has work.
///
/// The supervisor sends a byte as a question; the worker answers with one of `Sign`, and sends one unasked when that changes.
final class SupervisedWorker: Sendable {
  /// A sign of life, as a byte.
  enum Sign: UInt8 {
    case busy = 0x42
    case resting = 0x52
  }

  let pid: pid_t
  private let descriptor: Int32
  private let source = Mutex<(any DispatchSourceRead)?>(nil)

  /// - Parameters:
  ///   - said: called for each sign that arrives, with the number of the process, on a queue of its own.
  ///   - ended: called once, on any thread.
  init(
    program: String, arguments: [String], said: @escaping @Sendable (Sign, pid_t) -> Void,
    ended: @escaping @Sendable (DetachedProcess.End, pid_t) -> Void
  ) throws {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw SystemError(errno, "socketpair", path: program) }
    let (own, other) = (pair[0], pair[1])
    defer { close(other) }
    let started: pid_t
    do {
      started = try DetachedProcess.start(
        program, arguments: arguments, environment: UserEnvironment.ofService(), output: STDERR_FILENO, channel: other)
    } catch {
      close(own)
      throw error
    }
    pid = started
    descriptor = own
    source.withLock {
      $0 = SupervisedWorker.makeSource(own) { [weak self] in
        for sign in self?.readSigns() ?? [] { said(sign, started) }
      }
    }
    DetachedProcess.whenEnded(started) { ended($0, started) }
  }

  deinit { stopReading() }

  private static func makeSource(
    _ descriptor: Int32, _ readable: @escaping @Sendable () -> Void
  ) -> sending (any DispatchSourceRead) {
    let source = StreamReadSource.make(descriptor, queue: DispatchQueue(label: "worker-signs"))
    source.setEventHandler(handler: readable)
    source.resume()
    return source
  }

  /// Asks for a sign. A worker that does not read has enough questions already.
  func ask() {
    source.withLock { source in
      // Cancelled: its descriptor may be another file's.
      guard source != nil else { return }
      var question: UInt8 = 0x3F
      _ = send(descriptor, &question, 1, Int32(MSG_NOSIGNAL))
    }
  }

  /// The signs that have arrived and were not read.
  func readSigns() -> [Sign] {
    source.withLock { source in
      guard source != nil else { return [] }
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = read(descriptor, &bytes, bytes.count)
      if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR {
        source?.cancel()
        source = nil
      }
      return bytes.prefix(max(0, count)).compactMap { Sign(rawValue: $0) }
    }
  }

  private func stopReading() {
    source.withLock {
      $0?.cancel()
      $0 = nil
    }
  }
}
