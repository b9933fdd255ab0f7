import NIOConcurrencyHelpers
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct ConnectionAttemptHandshakeTests {
  /// Has no certificate, and counts how often it was asked for one.
  private final class Chooser: HandshakeClient {
    let count = NIOLockedValueBox(0)
    let mayBeAsked = true
    let limits = HandshakeLimits()

    func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>) { verdict.succeed() }

    func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>) {
      count.withLockedValue { $0 += 1 }
      choice.succeed(nil)
    }
  }

  /// The connection keeps the attempt, which must not keep the client's key.
  @Test func theChosenIdentityIsForgottenAfterTheHandshake() async throws {
    let loop = LoopExecutor.all[0].loop
    let chooser = Chooser()
    let isKept = try await loop.submit {
      let attempt = ConnectionAttempt(
        loop: loop, key: ConnectionKey(scheme: .https, host: "a.example", port: 443), client: chooser,
        networks: SystemNetworks.shared)
      attempt.isAttended = true
      attempt.certificateWanted(loop.makePromise())
      attempt.certificateWanted(loop.makePromise())
      let isKeptMeanwhile = attempt.identityChoice != nil
      attempt.settle(.success(()))
      let isKeptAfterwards = attempt.identityChoice != nil
      attempt.certificateWanted(loop.makePromise())
      return [isKeptMeanwhile, isKeptAfterwards, attempt.identityChoice != nil]
    }.get()
    #expect(isKept == [true, false, false])
    #expect(chooser.count.withLockedValue { $0 } == 1)
  }
}
