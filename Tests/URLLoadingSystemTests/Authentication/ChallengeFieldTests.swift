import Foundation
import LoopbackServer
import Synchronization
import SystemServices
import Testing
import URLLoadingSystem

/// Challenges as servers write them, right and wrong, and servers that ask without end.
@Suite struct ChallengeFieldTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let fields: [String]
    /// The realm that the app is asked about.
    let realm: String?
    let isAsked: Bool
    var testDescription: String { fields.map { String($0.prefix(70)) }.joined(separator: " | ") }

    init(_ fields: String..., realm: String? = nil, isAsked: Bool = true) {
      self.fields = fields
      self.realm = realm
      self.isAsked = isAsked
    }
  }

  static let rows = [
    Row(#"Basic realm="a", Digest"#, realm: "a"),
    Row(#"Digest realm="x", nonce="n", algorithm=SHA-1"#, #"Basic realm="b""#, realm: "b"),
    Row(#"Digest realm="x", nonce="n", qop="auth-conf""#, #"Basic realm="b""#, realm: "b"),
    Row(#"Strange, Basic realm="b""#, realm: "b"), Row(#"Strange abc==, Basic realm="b""#, realm: "b"),
    Row(#"Basic realm="quo\"ted, x=\"y""#, realm: #"quo"ted, x="y"#), Row("Basic realm=token", realm: "token"),
    Row(#"basic REALM="b""#, realm: "b"), Row(#", ,Basic realm="b",,"#, realm: "b"),
    Row(#"Basic realm="open"#, realm: "open"), Row(#"Basic realm="a" charset="UTF-8""#, realm: "a"),
    Row(String(repeating: #"Basic realm="b","#, count: 300), realm: "b"),
    // Without a realm it is a challenge all the same.
    Row("Basic", realm: nil), Row(#"Basic realm="""#, realm: ""), Row("Basic dTpw", realm: nil),
    Row(#"Digest realm="d", qop="auth""#, isAsked: false), Row(#"Basic = "b""#, isAsked: false),
    Row("NTLM =", isAsked: false),
    Row("Negotiate-ish abc", isAsked: false), Row("", isAsked: false), Row("\t,;=\"", isAsked: false),
  ]

  @Test(arguments: rows) func theUsableChallengeIsPutToTheApp(_ row: Row) async throws {
    try await withServer({ request in
      request.value("Authorization") == basic("ann", "1")
        ? .ok("in") : .status(401, fields: row.fields.map { ("WWW-Authenticate", $0) }, body: "who?")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      let loaded = try await session.data(from: server.url())
      #expect(delegate.asked.all.map(\.protectionSpace.realm) == (row.isAsked ? [row.realm] : []))
      expectText(row.isAsked ? "in" : "who?", loaded)
      #expect(server.requests.count == (row.isAsked ? 2 : 1))
    }
  }

  /// Negotiate alone, without a ticket and without an answer of the app: the 401 is the response, as for the other schemes.
  @Test(arguments: [false, true]) func negotiateWithoutATicketIsTheResponse(asksApp: Bool) async throws {
    try await withServer({ _ in .unauthorized("Negotiate") }) { server in
      let delegate = CredentialDelegate { _ in (.performDefaultHandling, nil) }
      let session = URLSession.answering(asksApp ? delegate : nil)
      defer { session.invalidateAndCancel() }
      let loaded = try await session.data(from: server.url())
      expectStatus(401, loaded)
      expectText("who?", loaded)
      let methods = asksApp && GSSAPI.isAvailable ? [NSURLAuthenticationMethodNegotiate] : []
      #expect(delegate.asked.all.map(\.protectionSpace.authenticationMethod) == methods)
      #expect(server.requests.count == 1)
    }
  }

  /// Only 401 asks, whatever fields another response has.
  @Test(arguments: [200, 400, 403, 404, 500, 503]) func otherResponsesRaiseNoChallenge(_ status: Int) async throws {
    try await withServer({ _ in
      .status(status, fields: [("WWW-Authenticate", #"Basic realm="here""#)], body: "no")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectStatus(status, session.data(from: server.url()))
      #expect(delegate.asked.all.isEmpty && server.requests.count == 1)
    }
  }

  /// A server that is out of order has said nothing about the credential: it is not kept.
  @Test(arguments: [500, 502, 503]) func aCredentialIsNotKeptWhereTheServerFails(_ status: Int) async throws {
    try await withServer({ request in
      request.value("Authorization") == nil
        ? .unauthorized(#"Basic realm="here""#) : .status(status, body: "broken")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "perhaps wrong")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectStatus(status, session.data(from: server.url())) }
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 0])
    }
  }

  /// A page that is not there, or not for this user, is the answer of a server that knows who asks.
  @Test(arguments: [403, 404]) func anAnswerToAKnownUserKeepsTheCredential(_ status: Int) async throws {
    try await withServer({ request in
      request.value("Authorization") == nil ? .unauthorized(#"Basic realm="here""#) : .status(status, body: "no")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectStatus(status, session.data(from: server.url())) }
      #expect(delegate.asked.all.count == 1)
    }
  }

  // MARK: Servers that never have enough

  @Test(arguments: [
    #"Digest realm="d", qop="auth", stale=true, nonce="#, #"Digest realm="d", qop="auth", nonce="#,
    #"Digest realm="d", qop="auth", algorithm=SHA-256, stale=TRUE, nonce="#,
  ]) func aFreshNonceEachTimeIsFollowedABoundedNumberOfTimes(_ challenge: String) async throws {
    let count = Atomic(0)
    try await withServer({ _ in
      .unauthorized(challenge + "\"n\(count.add(1, ordering: .relaxed).newValue)\"", body: "no")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectStatus(401, session.data(from: server.url()))
      #expect((2...60).contains(server.requests.count) && delegate.asked.all.count <= 9)
    }
  }

  /// The app is told of the failures in all spaces, so that it can stop; else the load does.
  @Test func aServerThatChangesItsRealmIsAnsweredABoundedNumberOfTimes() async throws {
    let count = Atomic(0)
    try await withServer({ _ in
      .unauthorized("Basic realm=\"r\(count.add(1, ordering: .relaxed).newValue)\"", body: "no")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectStatus(401, session.data(from: server.url()))
      #expect(delegate.asked.all.map(\.previousFailureCount) == Array(0..<delegate.asked.all.count))
      #expect((2...60).contains(server.requests.count))
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
  }
}
