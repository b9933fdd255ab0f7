import Foundation
import Testing

@testable import urlsession

/// The verdict of each check for what was found.
@Suite struct ServiceChecksTests {
  static func facts(_ change: (inout ServiceFacts) -> Void = { _ in }) -> ServiceFacts {
    var facts = ServiceFacts(
      commandVersion: "1.2", runtimeFolder: "/run/u", socketPath: "/run/u/socket", stateFolder: "/state")
    facts.service = .running(version: "1.2", pid: 7)
    facts.program = "/usr/bin/urlsessiond"
    facts.runtime = .init()
    facts.socket = .init(isFolder: false, mode: 0o600)
    facts.state = .init()
    facts.hasSystemd = true
    facts.unit = "/usr/lib/systemd/user/urlsessiond.service"
    facts.isUnitEnabled = true
    facts.lingers = true
    facts.freeSpace = 1_000_000_000_000
    facts.key = .found(isOwn: true, mode: 0o600, isReadable: true, isWhole: true)
    facts.isQueueLocked = true
    facts.queue = .init()
    facts.folders = ["partial": .init()]
    change(&facts)
    return facts
  }

  @Test func aSoundServiceHasNothingToMend() {
    let findings = ServiceChecks.findings(Self.facts())
    #expect(findings.allSatisfy { $0.verdict == .ok && $0.advice == nil })
    #expect(Set(findings.map(\.check)).count == findings.count)
    #expect(!ServiceChecks.fails(findings))
  }

  @Test func withoutAServiceNothingIsWrong() {
    let facts = Self.facts {
      $0.service = .notRunning
      ($0.runtime, $0.socket, $0.state, $0.isQueueLocked) = (nil, nil, nil, false)
    }
    #expect(ServiceChecks.findings(facts).allSatisfy { $0.verdict == .ok })
  }

  /// A folder that can't be looked into may have anything in it.
  @Test func nothingIsCalledSoundInAClosedFolder() {
    let facts = Self.facts { ($0.state, $0.queue, $0.key) = (.init(isWritable: false), nil, .none) }
    let inside = ServiceChecks.findings(facts).filter { ["folders", "queue", "key"].contains($0.check) }
    #expect(inside.count == 3 && inside.allSatisfy { $0.text.contains("not looked at") }, "\(inside.map(\.text))")
  }

  @Test func anOldSocketIsReplaced() {
    let facts = Self.facts { ($0.service, $0.isQueueLocked) = (.notRunning, false) }
    let finding = ServiceChecks.findings(facts).first { $0.check == "socket" }
    #expect(finding?.verdict == .ok && finding?.text.contains("replaces") == true)
  }

  static let rows: [(String, Finding.Verdict, ServiceFacts)] = [
    ("program", .fail, facts { $0.program = nil }),
    ("program", .fail, facts { ($0.program, $0.namedProgram) = (nil, "/opt/urlsessiond") }),
    ("program", .warn, facts { $0.namedProgram = "opt/urlsessiond" }),
    ("service", .fail, facts { $0.service = .failing("It does not greet.") }),
    ("service", .fail, facts { $0.service = .waiting("It waits for its storage.") }),
    (
      "start", .warn,
      facts { ($0.service, $0.isQueueLocked, $0.startFailure) = (.notRunning, false, .init(reason: "x")) }
    ),
    (
      "start", .fail,
      facts {
        ($0.service, $0.isQueueLocked, $0.hasSupervisor) = (.notRunning, false, true)
        $0.startFailure = .init(reason: "open /state/queue: Permission denied")
      }
    ),
    ("version", .warn, facts { $0.service = .running(version: "1.1", pid: 7) }),
    ("lock", .fail, facts { $0.service = .notRunning }),
    ("lock", .fail, facts { $0.lock = .init(isFolder: true) }),
    ("runtimeFolder", .fail, facts { $0.runtime = .init(mode: 0o755) }),
    ("runtimeFolder", .fail, facts { $0.runtime = .init(isOwn: false) }),
    ("runtimeFolder", .fail, facts { ($0.service, $0.isQueueLocked, $0.runtimeFault) = (.notRunning, false, "open") }),
    (
      "runtimeFolder", .fail,
      facts {
        ($0.service, $0.isQueueLocked, $0.runtimeFault, $0.program) = (.notRunning, false, "open", nil)
      }
    ),
    ("runtimeFolder", .warn, facts { ($0.runtime, $0.closedParents) = (nil, ["/run/u": "/run"]) }),
    ("stateFolder", .fail, facts { ($0.state, $0.closedParents) = (nil, ["/state": "/"]) }),
    (
      "stateFolder", .fail,
      facts {
        ($0.service, $0.isQueueLocked) = (.notRunning, false)
        ($0.state, $0.queue, $0.folders, $0.key, $0.missingQueue) = (nil, nil, [:], .none, 570)
      }
    ),
    ("stateFolder", .fail, facts { $0.state = .init(isWritable: false) }),
    ("stateFolder", .fail, facts { $0.state = .init(isOwn: false) }),
    ("stateFolder", .fail, facts { $0.state = .init(isFolder: false) }),
    ("stateFolder", .fail, facts { $0.state = .init(mode: 0o701) }),
    ("stateFolder", .fail, facts { $0.state = .init(isFolder: false, isLink: true) }),
    ("folders", .fail, facts { $0.folders = ["partial": .init(isFolder: false, isLink: true), "running": .init()] }),
    ("folders", .fail, facts { $0.folders = ["partial": .init(isFolder: false)] }),
    ("folders", .fail, facts { $0.folders = ["complete": .init(isWritable: false), "running": .init(isOwn: false)] }),
    ("queue", .fail, facts { $0.queue = .init(isFile: false) }),
    ("queue", .fail, facts { $0.queue = .init(isOwn: false) }),
    ("queue", .fail, facts { $0.queue = .init(mode: 0, fault: "Permission denied") }),
    ("queue", .fail, facts { $0.queue = .init(fault: "Input/output error") }),
    ("queue", .warn, facts { $0.queue = .init(mode: 0o644) }),
    ("queue", .warn, facts { $0.queue = .init(isDatabase: false) }),
    ("socket", .fail, facts { $0.socket = .init(isFolder: false, isOwn: false, mode: 0o600) }),
    ("socket", .fail, facts { $0.socket = .init(isFolder: false, mode: 0o666) }),
    ("socket", .warn, facts { $0.socket = nil }),
    ("socket", .fail, facts { $0.socket = .init() }),
    ("units", .warn, facts { $0.hasSystemd = false }),
    ("units", .warn, facts { $0.unit = nil }),
    ("units", .warn, facts { $0.isUnitEnabled = false }),
    ("lingering", .warn, facts { $0.lingers = false }),
    ("keyring", .warn, facts { $0.hasKeyring = false }),
    ("key", .fail, facts { $0.key = .missing }),
    ("key", .fail, facts { $0.key = .found(isOwn: false, mode: 0o600, isReadable: true, isWhole: true) }),
    ("key", .fail, facts { $0.key = .found(isOwn: true, mode: 0o600, isReadable: true, isWhole: false) }),
    ("key", .fail, facts { $0.key = .found(isOwn: true, mode: 0, isReadable: false, isWhole: true) }),
    ("key", .warn, facts { $0.key = .found(isOwn: true, mode: 0o640, isReadable: true, isWhole: true) }),
    ("space", .warn, facts { $0.freeSpace = 50_000_000 }),
    ("space", .fail, facts { $0.freeSpace = 5 }),
    ("space", .fail, facts { $0.hasFreeFiles = false }),
    ("setAside", .warn, facts { $0.setAside = ["2026-01-01"] }),
    ("setAside", .warn, facts { $0.quarantined = ["2026-01-01"] }),
  ]

  @Test(arguments: rows) func eachFaultHasAVerdictAndAWayToMendIt(
    _ check: String, _ verdict: Finding.Verdict, _ facts: ServiceFacts
  ) throws {
    let findings = ServiceChecks.findings(facts)
    let finding = try #require(findings.first { $0.check == check })
    #expect(finding.verdict == verdict)
    #expect(finding.advice?.isEmpty == false)
    #expect(findings.count { $0.verdict != .ok } == 1, "\(findings)")
    #expect(ServiceChecks.fails(findings) == (verdict == .fail))
    #expect(DoctorCommand.lines(finding).count == 2)
  }

  @Test(arguments: [
    ("open /state/queue.sqlite: No space left on device", "make room on the disk of /state"),
    ("/state is open to other users (mode 777)", "chmod 700"),
    ("open /state/lock: Permission denied", "writable for this user"),
    ("open /state/lock: Too many open files", "ulimit -n"),
    ("something else", "urlsession log"),
  ]) func aStartThatFailedIsToldWithItsReason(_ reason: String, _ advice: String) throws {
    let date = try Date("2026-01-31T10:20:30Z", strategy: .iso8601)
    let facts = Self.facts {
      ($0.service, $0.isQueueLocked) = (.notRunning, false)
      $0.startFailure = .init(reason: reason, date: date)
    }
    let finding = try #require(ServiceChecks.findings(facts).first { $0.check == "start" })
    #expect(finding.text == "the last start of the service failed on 2026-01-31T10:20:30Z: \(reason)")
    #expect(finding.advice?.contains(advice) == true && finding.advice?.contains("the next transfer") == true)
  }

  @Test func aServiceThatRunsHasStarted() throws {
    let findings = ServiceChecks.findings(Self.facts { $0.startFailure = .init(reason: "x") })
    #expect(findings.allSatisfy { $0.verdict == .ok })
  }

  @Test func aLinkIsNotToBeRemoved() throws {
    let facts = Self.facts { $0.folders = ["partial": .init(isFolder: false, isLink: true)] }
    let finding = try #require(ServiceChecks.findings(facts).first { $0.check == "folders" })
    #expect(finding.text == "/state/partial is a symbolic link" && finding.advice == "put the folder back in its place")
  }

  @Test func theQueueAndTheFoldersAreLookedAtAsTheyAre() throws {
    let folder = "\(NSTemporaryDirectory())/doctor-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(mkdir(folder, 0o700) == 0)
    #expect(ServiceFacts.entry(folder) == .init())
    let (queue, link) = ("\(folder)/queue", "\(folder)/link")
    #expect(ServiceFacts.queue(queue) == nil)
    try Data().write(to: URL(fileURLWithPath: queue))
    #expect(chmod(queue, 0o600) == 0 && ServiceFacts.queue(queue) == .init())
    #expect(chmod(queue, 0) == 0 && ServiceFacts.queue(queue)?.mode == 0)
    #expect(chmod(queue, 0o600) == 0 && symlink(queue, link) == 0)
    #expect(ServiceFacts.queue(link) == .init())
    try Data("SQLite format 3\0 and so on".utf8).write(to: URL(fileURLWithPath: queue))
    #expect(ServiceFacts.queue(queue)?.isDatabase == true)
    for other in ["SQLite format", "SQLite format 4 and so on"] {
      try Data(other.utf8).write(to: URL(fileURLWithPath: queue))
      #expect(ServiceFacts.queue(queue)?.isDatabase == false, "\(other)")
    }
    let entry = try #require(ServiceFacts.entry(link))
    #expect(entry.isLink && !entry.isFolder)
    #expect(unlink(queue) == 0 && ServiceFacts.queue(link)?.isFile == false)
    #expect(mkdir(queue, 0o700) == 0 && ServiceFacts.queue(queue)?.isFile == false)
  }

  /// Decision 142: 30 days after the date in its name.
  @Test func whatWasSetAsideHasADateOfRemoval() throws {
    let facts = Self.facts {
      $0.setAside = ["2026-01-31T10:20:30Z-5F2C80AB", "notes"]
      $0.quarantined = ["2026-01-02T23:00:00Z-5F2C80AB"]
    }
    let finding = try #require(ServiceChecks.findings(facts).first { $0.check == "setAside" })
    let advice = try #require(finding.advice)
    #expect(advice.contains("30 days after the date in its name, the oldest on 2026-02-01;"), "\(advice)")
  }

  @Test(arguments: [
    ("1: FLOCK  ADVISORY  WRITE 708 08:01:135 0 EOF\n", true),
    ("1: FLOCK  ADVISORY  WRITE 708 08:01:1354 0 EOF\n", false),
    ("1: POSIX  ADVISORY  WRITE 708 08:01:135 0 EOF\n", false), ("", false),
  ])
  func locksAreReadFromTheKernelsList(_ text: String, _ isLocked: Bool) {
    #expect(ServiceFacts.isLocked(inode: 135, in: text) == isLocked)
  }
}
