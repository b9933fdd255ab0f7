import Foundation
import HTTPSemantics
import LoopbackServer
import Synchronization
import Testing

@testable import HTTPTransport
@testable import URLLoadingSystem

/// The tokens of Negotiate, made by a script in the place of GSS-API.
@Suite struct NegotiateProofTests {
  private struct NoTicket: Error {}

  /// Writes down what is asked of it: the channel of each conversation, and the server's tokens.
  private final class Script: Sendable {
    let channels = Recorder<[UInt8]?>()
    let tokens = Recorder<[UInt8]?>()
    let isBroken = Mutex(false)

    func begin(_ channel: [UInt8]?) -> NegotiateProof.Conversation {
      channels.record(channel)
      return { token in
        self.tokens.record(token)
        if self.isBroken.withLock({ $0 }) { throw NoTicket() }
        return Array("c\(self.channels.count)t\(token.map { String(decoding: $0, as: UTF8.self) } ?? "")".utf8)
      }
    }
  }

  private static let asks = [AuthenticationOffer.negotiate(token: nil)]

  private static func value(_ proof: any AuthenticationProof) throws -> String? {
    let value = try proof.fieldValue(for: ProvenRequest(method: "GET", target: "/"))
    let token = value.flatMap { Data(base64Encoded: String($0.dropFirst("Negotiate ".count))) }
    #expect(value?.hasPrefix("Negotiate ") != false)
    return token.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func aConversationGoesOnWithTheServersToken() async throws {
    let script = Script()
    let proof = NegotiateProof { script.begin($0) }
    #expect(await proof.begin(with: Self.asks[0]))
    #expect(try Self.value(proof) == "c1t")
    #expect(await proof.goesOn(after: [.ntlm(token: nil), .negotiate(token: Array("x".utf8))]))
    #expect(try Self.value(proof) == "c1tx")
    // Asked anew, the credential is refused.
    #expect(await !proof.goesOn(after: Self.asks))
    #expect(script.channels.count == 1)
  }

  /// The first request after the one that was let in is silent; where it is asked, the later ones carry tokens.
  @Test func aServerThatAsksEachRequestGetsATokenUnasked() async throws {
    let script = Script()
    let first = NegotiateProof { script.begin($0) }
    #expect(await first.begin(with: Self.asks[0]))
    _ = try Self.value(first)
    let second = first.forNextRequest()
    #expect(try second.isPrepared && Self.value(second) == nil)
    #expect(await second.goesOn(after: Self.asks))
    #expect(try Self.value(second) == "c2t")
    let third = second.forNextRequest()
    #expect(!third.isPrepared)
    await third.prepare()
    #expect(try third.isPrepared && Self.value(third) == "c3t")
    #expect(first.identity == third.identity)
  }

  /// A ticket that has expired meanwhile: the request goes out without a token, and where the server asks, the credential
  /// is refused at once, so that the next scheme has its turn.
  @Test func aTokenThatCanNotBeMadeRefusesTheCredential() async throws {
    let script = Script()
    let first = NegotiateProof { script.begin($0) }
    #expect(await first.begin(with: Self.asks[0]))
    _ = try Self.value(first)
    let second = first.forNextRequest()
    _ = try Self.value(second)
    #expect(await second.goesOn(after: Self.asks))
    script.isBroken.withLock { $0 = true }
    let third = second.forNextRequest()
    await third.prepare()
    #expect(try third.isPrepared && Self.value(third) == nil)
    let steps = script.tokens.count
    #expect(await !third.goesOn(after: Self.asks))
    // The library, which asks servers and may take its time, was not asked once more for nothing.
    #expect(script.tokens.count == steps)
    // The next request tries again.
    script.isBroken.withLock { $0 = false }
    let fourth = third.forNextRequest()
    await fourth.prepare()
    #expect(try Self.value(fourth) != nil)
  }

  @Test func withoutATokenThereIsNoAnswer() async throws {
    let script = Script()
    script.isBroken.withLock { $0 = true }
    let proof = NegotiateProof { script.begin($0) }
    #expect(await !proof.begin(with: Self.asks[0]))
    let empty = NegotiateProof { _ in { _ in [] } }
    #expect(await !empty.begin(with: Self.asks[0]))
  }

  /// A server that has a new certificate gets a token that is bound to it, once.
  @Test func anotherCertificateIsAnsweredOnceMore() async throws {
    let certificates = try TestCertificates.shared()
    let servers = try [certificates.localhost, certificates.wrongHost].map { identity in
      let pem = try Data(contentsOf: URL(fileURLWithPath: identity.certificateFile))
      let der = try #require(SecCertificate.certificates(inPEM: pem).first).derBytes
      return try #require(ServerCertificate(der: Array(der)))
    }
    let script = Script()
    let proof = NegotiateProof { script.begin($0) }
    proof.bind(to: servers[0])
    #expect(await proof.begin(with: Self.asks[0]))
    _ = try Self.value(proof)
    proof.bind(to: servers[1])
    #expect(await proof.goesOn(after: Self.asks))
    #expect(try Self.value(proof) == "c2t")
    let channels = script.channels.all
    #expect(channels == servers.map { $0.endPointHash } && channels.allSatisfy { $0?.count == 32 })
    #expect(await !proof.goesOn(after: Self.asks))
  }
}
