import Foundation
import Synchronization
import Testing
import URLLoadingSystem

@Suite struct URLAuthenticationChallengeTests {
  final class Sender: NSObject, URLAuthenticationChallengeSender {
    let calls = Mutex<[String]>([])

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) { note("use") }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { note("continue") }
    func cancel(_ challenge: URLAuthenticationChallenge) { note("cancel") }
    private func note(_ call: String) { calls.withLock { $0.append(call) } }
  }

  let space = URLProtectionSpace(host: "h", port: 80, protocol: "http", realm: "r", authenticationMethod: nil)

  @Test func isWhatItWasMadeOfAndTakesAnotherSender() {
    let first = Sender()
    let second = Sender()
    let credential = URLCredential(user: "u", password: "p", persistence: .none)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: credential, previousFailureCount: 2, failureResponse: URLResponse(),
      error: URLError(.timedOut), sender: first)
    let copy = URLAuthenticationChallenge(authenticationChallenge: challenge, sender: second)
    #expect(copy.protectionSpace == space)
    #expect(copy.proposedCredential === credential)
    #expect(copy.previousFailureCount == 2)
    #expect(copy.failureResponse === challenge.failureResponse)
    #expect((copy.error as? URLError)?.code == .timedOut)
    #expect(copy.sender === second && challenge.sender === first)
    copy.sender?.performDefaultHandling(for: copy)
    copy.sender?.rejectProtectionSpaceAndContinue(with: copy)
    #expect(second.calls.withLock { $0 } == ["continue", "continue"])
  }

  @Test func archivesLoseOnlyTheSender() throws {
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: URLCredential(user: "u", password: "p", persistence: .permanent),
      previousFailureCount: 1, failureResponse: HTTPURLResponse(), error: URLError(.timedOut))
    let data = try NSKeyedArchiver.archivedData(withRootObject: challenge, requiringSecureCoding: true)
    let restored = try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClass: URLAuthenticationChallenge.self, from: data))
    #expect(restored.protectionSpace == space)
    #expect(restored.proposedCredential?.password == "p")
    #expect(restored.proposedCredential?.persistence == .permanent)
    #expect(restored.previousFailureCount == 1)
    #expect((restored.error as NSError?)?.code == NSURLErrorTimedOut)
    #expect(restored.failureResponse is HTTPURLResponse)
    #expect(restored.sender == nil)
  }
}

@Suite struct URLCredentialTests {
  @Test func knowsItsKind() {
    let password = URLCredential(user: "u", password: "secret", persistence: .permanent)
    #expect(password.user == "u" && password.password == "secret" && password.hasPassword)
    #expect(password.identity == nil && password.certificates.isEmpty)
    #expect(!password.description.contains("secret"))

    let certificate = SecCertificate(derBytes: Data([1]))
    let identity = SecIdentity(certificate: certificate, privateKeyDERBytes: Data([2]))
    let client = URLCredential(identity: identity, certificates: [certificate], persistence: .forSession)
    #expect(client.identity === identity)
    #expect(client.certificates.first as? SecCertificate === certificate)
    #expect(client.user == nil && !client.hasPassword)

    let trust = URLCredential(trust: SecTrust(certificates: [certificate], host: "h"))
    #expect(trust.user == nil && trust.identity == nil && trust.persistence == .none)
    #expect(password != client && client != trust)
    #expect(password == URLCredential(user: "u", password: "secret", persistence: .permanent))
  }
}
