import Dispatch
import Foundation
import SystemServices
import TransferService

/// Answers the supervisor from the engine's queue, so that an engine that is stuck gives no answer. The worker's side of
/// `SupervisedWorker`.
final class SupervisorAnswers: Sendable {
  private let descriptor = DetachedProcess.channelDescriptor
  private let queue = DispatchQueue(label: "supervisor-answers")

  /// Answers until the supervisor or this process ends.
  static func start(_ engine: TransferEngine) {
    let answers = SupervisorAnswers()
    _ = fcntl(answers.descriptor, F_SETFD, FD_CLOEXEC)
    answers.read(engine)
    engine.watchActivity { answers.say($0 ? .busy : .resting) }
  }

  private func read(_ engine: TransferEngine) {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    // The handler holds the source, and lets go of it when it is cancelled.
    source.setEventHandler { [self] in
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = Glibc.read(descriptor, &bytes, bytes.count)
      if count > 0 {
        engine.ping { isBusy in self.say(isBusy ? .busy : .resting) }
      } else if count == 0 || errno != EAGAIN && errno != EINTR {
        source.cancel()
      }
    }
    source.resume()
  }

  /// Never waits: a supervisor that does not read is stopped, or has ended.
  private func say(_ sign: SupervisedWorker.Sign) {
    var byte = sign.rawValue
    _ = send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }
}
