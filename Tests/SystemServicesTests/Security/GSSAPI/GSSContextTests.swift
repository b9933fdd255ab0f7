import ChildProcess
import Foundation
import RealServers
import Testing

@testable import SystemServices

/// Kerberos with a key distribution center of its own, in a program of its own: the realm is a matter of the whole
/// process.
@Suite(.enabled(if: KerberosRealm.runsHere, "\(KerberosRealm.advice)"))
struct GSSContextTests {
  private func withRealm(_ body: (KerberosRealm) async throws -> Void) async throws {
    let realm = try await KerberosRealm.start()
    do {
      try await body(realm)
    } catch {
      await realm.stop()
      throw error
    }
    await realm.stop()
  }

  private func probe(_ arguments: String..., environment: [String: String]) async throws -> String {
    let run = try await ProgramRun.run(BuiltProgram.path("system-probe"), arguments, environment: environment)
    #expect(run.status == 0, "\(run.errors)")
    return run.output.trimmingCharacters(in: .newlines)
  }

  @Test func ticketAuthenticatesTheUser() async throws {
    try await withRealm { realm in
      let ticket = try await realm.login()
      #expect(try await probe("ticket", environment: ticket) == "true")
      for mechanism in ["negotiate", "kerberos"] {
        for mutual in ["yes", "no"] {
          let result = try await probe("negotiate", "mechanism=\(mechanism)", "mutual=\(mutual)", environment: ticket)
          #expect(result == "complete as user@TEST.EXAMPLE", "\(mechanism), mutual=\(mutual)")
        }
      }
    }
  }

  @Test func passwordTakesThePlaceOfATicket() async throws {
    try await withRealm { realm in
      for user in ["user", "user@TEST.EXAMPLE"] {
        let result = try await probe(
          "negotiate", "mechanism=kerberos", "user=\(user)", "password=pass word", environment: realm.environment)
        #expect(result == "complete as user@TEST.EXAMPLE")
      }
    }
  }

  @Test(arguments: ["user", "unknown"])
  func wrongPasswordIsAnErrorThatDoesNotShowIt(_ user: String) async throws {
    try await withRealm { realm in
      let result = try await probe(
        "negotiate", "mechanism=kerberos", "user=\(user)", "password=hunter2", environment: realm.environment)
      #expect(result.contains(": GSS-API: "))
      #expect(!result.contains("hunter2"))
    }
  }

  @Test func withoutATicketThereIsNoAttempt() async throws {
    try await withRealm { realm in
      #expect(try await probe("ticket", environment: realm.environment) == "false")
      let result = try await probe("negotiate", "mechanism=kerberos", environment: realm.environment)
      #expect(result.hasPrefix("no credential: GSS-API: the context was not established: "))
    }
  }

  @Test func serverThatTheRealmDoesNotKnowIsAnError() async throws {
    try await withRealm { realm in
      let result = try await probe("negotiate", "host=other.example", environment: realm.login())
      #expect(result.hasPrefix("failed: GSS-API: the context was not established: "))
    }
  }

  @Test(arguments: ["negotiate", "kerberos"])
  func bindingsOfAnotherChannelAreRefused(_ mechanism: String) async throws {
    try await withRealm { realm in
      let ticket = try await realm.login()
      let same = try await probe(
        "negotiate", "mechanism=\(mechanism)", "bindings=one", "accepted-bindings=one", environment: ticket)
      #expect(same == "complete as user@TEST.EXAMPLE")
      let other = try await probe(
        "negotiate", "mechanism=\(mechanism)", "bindings=one", "accepted-bindings=other", environment: ticket)
      // GSS_S_BAD_BINDINGS
      #expect(other == "the acceptor refused: 4")
    }
  }

  @Test(arguments: ["negotiate", "kerberos"])
  func tokenThatIsNoneIsAnError(_ mechanism: String) async throws {
    try await withRealm { realm in
      let result = try await probe(
        "negotiate", "mechanism=\(mechanism)", "garbage=yes", environment: realm.login())
      #expect(result.hasPrefix("failed: GSS-API: the context was not established: "))
    }
  }

  @Test func centerThatDoesNotAnswerIsGivenUp() async throws {
    try await withRealm { realm in
      realm.signal("STOP")
      let result = try await probe(
        "negotiate", "mechanism=kerberos", "user=user", "password=pass word", "limit=300",
        environment: realm.environment)
      #expect(result == "failed: GSS-API: no answer within 0.3 seconds")
      realm.signal("CONT")
    }
  }

  /// Without a ticket, and with a password that no realm knows, the two sides agree on NTLM.
  @Test(.enabled(if: GSSAPI.supports(.ntlm), "NTLM is missing: apt-get install gss-ntlmssp"))
  func negotiateFallsBackToNTLM() async throws {
    try await withRealm { realm in
      let file = NSTemporaryDirectory() + "ntlm-users-\(UUID().uuidString)"
      try "DOMAIN:ada:swordfish\n".write(toFile: file, atomically: false, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: file) }
      let environment = realm.environment.merging(["NTLM_USER_FILE": file]) { $1 }
      let result = try await probe(
        "negotiate", "user=DOMAIN\\ada", "password=swordfish", environment: environment)
      #expect(result == "complete as DOMAIN\\ada")
      let wrong = try await probe("negotiate", "user=DOMAIN\\ada", "password=hunter2", environment: environment)
      #expect(wrong.hasPrefix("the acceptor refused"))
    }
  }

  /// A ticket is a matter of Kerberos: a server that the realm does not know gets no proof of a password of NTLM, which it
  /// could guess at, though the system has one for every program.
  @Test(.enabled(if: GSSAPI.supports(.ntlm), "NTLM is missing: apt-get install gss-ntlmssp"))
  func aTicketDoesNotStandForNTLM() async throws {
    try await withRealm { realm in
      let file = NSTemporaryDirectory() + "ntlm-users-\(UUID().uuidString)"
      try "DOMAIN:ada:swordfish\n".write(toFile: file, atomically: false, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: file) }
      for login in [try await realm.login(), realm.environment] {
        let environment = login.merging(["NTLM_USER_FILE": file]) { $1 }
        let result = try await probe("negotiate", "host=other.example", environment: environment)
        #expect(result.contains(": GSS-API: "), "\(result)")
      }
    }
  }

  @Test func libraryHasKerberosAndNegotiation() {
    #expect(GSSAPI.isAvailable)
    #expect(GSSAPI.supports(.kerberos))
    #expect(GSSAPI.supports(.negotiate))
  }
}
