import Foundation
import NIOCore
import SystemServices
import TransferProtocol

/// Finds out which programs are at the other ends of connections.
///
/// A program is looked at where it lies, and a file system that hangs keeps those that look at it, for ever. So this happens
/// on threads of its own, with a time limit: two for each program, as the kernel names it before it is looked at. The
/// look-ups of one program hold up those of no other one.
final class PeerLookUp: Sendable {
  /// The program could not be looked at in time. It may be later.
  struct NoAnswer: Error, Equatable, CustomStringConvertible {
    let pid: pid_t
    let limit: Duration

    var description: String {
      "the program of process \(pid) could not be looked at within \(limit); its file system does not answer"
    }

    var refusal: Refusal {
      .unknownProgram("The transfer service can't tell which program asks: \(self). It is asked again later.")
    }
  }

  private let threads = CopyThreads(name: "peers", limits: .init(ofMount: 2, ofApp: 2, all: 64))
  private let limit: Duration
  private let identify: @Sendable (PeerCredentials) throws -> PeerIdentity

  init(within limit: TimeAmount, _ identify: @escaping @Sendable (PeerCredentials) throws -> PeerIdentity) {
    self.limit = .nanoseconds(limit.nanoseconds)
    self.identify = identify
  }

  /// Fails with ``NoAnswer`` when the limit has passed.
  func peer(_ credentials: PeerCredentials, on loop: any EventLoop) -> EventLoopFuture<PeerIdentity> {
    let promise = loop.makePromise(of: PeerIdentity.self)
    let program = PeerIdentity.rememberedProgram(of: credentials.pid)
    threads.call(at: .init(app: program), within: limit) { [identify] _ in
      try identify(credentials)
    } ended: { result in
      promise.completeWith(
        result.mapError {
          guard let expired = $0 as? BlockingCalls.Expired else { return $0 }
          return NoAnswer(pid: credentials.pid, limit: expired.limit)
        })
    }
    return promise.futureResult
  }
}
