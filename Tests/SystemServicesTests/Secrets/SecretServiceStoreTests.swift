import ChildProcess
import Foundation
import RealServers
import Testing

@testable import SystemServices

/// The user's keychain with gnome-keyring, in a program of its own: the message bus is a matter of the whole process.
@Suite(.enabled(if: Keyring.runsHere, "\(Keyring.advice)"))
struct SecretServiceStoreTests {
  private func withKeyring(isRunning: Bool = true, _ body: (Keyring) async throws -> Void) async throws {
    let keyring = try await Keyring.start(isRunning: isRunning)
    do {
      try await body(keyring)
    } catch {
      await keyring.stop()
      throw error
    }
    await keyring.stop()
  }

  /// What the probe answers to each of the lines.
  private func ask(_ lines: [String], options: [String] = [], _ environment: [String: String]) async throws
    -> [String]
  {
    let run = try await ProgramRun.run(
      BuiltProgram.path("system-probe"), ["secrets"] + options, environment: environment,
      input: lines.map { $0 + "\n" }.joined())
    #expect(run.status == 0)
    #expect(run.errors == "")
    return run.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { String($0) }
  }

  @Test func secretsAreKeptFoundReplacedAndRemoved() async throws {
    try await withKeyring { keyring in
      let kept = try await ask(
        [
          "store server=example.org,port=443,realm=r,user=ada hunter2",
          "store server=example.org,port=443,user=ada of no realm",
          "store server=example.org,port=443,realm=r,user=bob swordfish p\u{e4}ss",
          "store server=example.org,port=443,realm=r,user=ada hunter3", "store server=example.com,user=eve",
        ], keyring.environment)
      #expect(kept == Array(repeating: "stored", count: 5))
      // Another process.
      let found = try await ask(
        [
          "find server=example.org,realm=r", "find server=example.org,realm=", "find server=example.com",
          "find server=nowhere.example", "list server=example.org,user=ada", "remove server=example.org,realm=r",
          "find server=example.org", "remove server=nowhere.example", "list -",
        ], keyring.environment)
      #expect(
        found == [
          "server=example.org port=443 realm=r user=ada: hunter3; "
            + "server=example.org port=443 realm=r user=bob: swordfish p\u{e4}ss",
          "server=example.org port=443 user=ada: of no realm", "server=example.com user=eve: ", "",
          "server=example.org port=443 realm=r user=ada; server=example.org port=443 user=ada", "removed 2",
          "server=example.org port=443 user=ada: of no realm", "removed 0",
          "server=example.com user=eve; server=example.org port=443 user=ada",
        ])
    }
  }

  @Test(arguments: [true, false])
  func lockedItemsWithoutAPrompterAreAnError(asksUser: Bool) async throws {
    try await withKeyring { keyring in
      let options = asksUser ? [] : ["asks=no"]
      #expect(try await ask(["store server=example.org,user=ada hunter2"], keyring.environment) == ["stored"])
      try await keyring.lock()
      let answers = try await ask(
        [
          "find server=example.org", "remove server=example.org", "store server=example.org,user=bob swordfish",
          "list -",
          "find server=nowhere.example",
        ], options: options, keyring.environment)
      let locked = "error: the keychain is locked, and was not unlocked"
      // Nothing asks for what is not there.
      #expect(answers == [locked, locked, locked, "", ""])
    }
  }

  /// The user of a desktop is not there: the operation waits no longer than its limit. What gnome-keyring does with the question
  /// that is given up is its own affair.
  @Test(.enabled(if: KeyringPrompter.runsHere, "\(KeyringPrompter.advice)"))
  func questionThatStaysOpenIsAnError() async throws {
    try await withKeyring { keyring in
      #expect(try await ask(["store server=example.org,user=ada hunter2"], keyring.environment) == ["stored"])
      try await keyring.lock()
      let prompter = try await KeyringPrompter.start(for: keyring, user: .staysAway)
      let run = try await ProgramRun.run(
        BuiltProgram.path("system-probe"), ["secrets", "limit=2000"], environment: keyring.environment,
        input: "find server=example.org\n")
      #expect(run.status == 0 && run.output == "error: the keychain did not answer within 2.0 seconds\n")
      #expect(prompter.questions == 1)
      await prompter.stop()
    }
  }

  /// The user of a desktop closes the question.
  @Test(.enabled(if: KeyringPrompter.runsHere, "\(KeyringPrompter.advice)"))
  func questionThatIsDismissedIsAnError() async throws {
    try await withKeyring { keyring in
      #expect(try await ask(["store server=example.org,user=ada hunter2"], keyring.environment) == ["stored"])
      try await keyring.lock()
      let prompter = try await KeyringPrompter.start(for: keyring, user: .dismisses)
      let lines = [
        "find server=example.org", "remove server=example.org", "store server=example.org,user=bob swordfish",
      ]
      for line in lines {
        let (questions, started) = (prompter.questions, ContinuousClock.now)
        let answers = try await ask(
          [line, "find server=nowhere.example", "list -"], options: ["limit=90000"], keyring.environment)
        #expect(answers == ["error: the keychain is locked, and was not unlocked", "", ""])
        #expect(prompter.questions == questions + 1, "\(line)")
        #expect(ContinuousClock.now - started < .seconds(60))
      }
      // A program without a window asks nothing.
      let (questions, locked) = (prompter.questions, "error: the keychain is locked, and was not unlocked")
      #expect(try await ask(lines, options: ["asks=no"], keyring.environment) == [locked, locked, locked])
      #expect(prompter.questions == questions)
      await prompter.stop()
    }
  }

  @Test func serviceThatDoesNotAnswerIsGivenUp() async throws {
    try await withKeyring { keyring in
      keyring.signal("STOP")
      let answers = try await ask(["find server=example.org"], options: ["limit=300"], keyring.environment)
      #expect(answers == ["error: the keychain did not answer within 0.3 seconds"])
    }
  }

  @Test func serviceThatEndsMakesCallsFail() async throws {
    try await withKeyring { keyring in
      let probe = try ProbeConversation([], environment: keyring.environment)
      #expect(try await probe.ask("store server=example.org,user=ada hunter2") == "stored")
      keyring.signal("STOP")
      async let answer = probe.ask("find server=example.org")
      keyring.signal("KILL")
      #expect(try await answer.hasPrefix("error: the keychain "))
      await keyring.waitUntilServiceEnded()
      #expect(
        try await probe.ask("find -").hasPrefix("error: the keychain is not available: there is no Secret Service"))
      #expect(await probe.end() == 0)
    }
  }

  @Test func programOutlivesTheMessageBus() async throws {
    try await withKeyring { keyring in
      let probe = try ProbeConversation([], environment: keyring.environment)
      #expect(try await probe.ask("store server=example.org,user=ada hunter2") == "stored")
      await keyring.stopBus()
      #expect(try await probe.ask("find server=example.org").hasPrefix("error: the keychain "))
      #expect(await probe.end() == 0)
    }
  }

  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func serviceWithoutEncryptionIsNotUsed() async throws {
    let bus = try await PlainSecretService.start()
    let environment = ["DBUS_SESSION_BUS_ADDRESS": bus.address]
    let answers = try await ask(["store server=example.org hunter2"], environment)
    #expect(answers == ["error: the keychain is not used: it offers no encrypted session"])
    await bus.stop()
  }

  @Test func withoutABusThereIsNoKeychain() async throws {
    let none = ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/nowhere"]
    let answers = try await ask(["find -"], none)
    #expect(answers == ["error: the keychain is not available: this session has no D-Bus message bus"])
  }

  @Test(
    arguments: [
      (true, "", "SecretServiceStore"), (true, "/nowhere/secrets", "SecretServiceStore"),
      (false, "/nowhere/secrets", "FileSecretStore"), (false, "", "none"),
    ])
  func keychainIsPreferredToTheFile(isRunning: Bool, file: String, store: String) async throws {
    try await withKeyring(isRunning: isRunning) { keyring in
      let run = try await ProgramRun.run(
        BuiltProgram.path("system-probe"), ["store"],
        environment: keyring.environment.merging(["URLSESSION_SECRETS_FILE": file]) { $1 })
      #expect(run.output == store + "\n")
    }
  }
}
