import CommandLineOutput
import Foundation
import SystemServices
import TransferProtocol

/// Judges the facts: each check says what is so and how it is mended.
enum ServiceChecks {
  static func findings(_ facts: ServiceFacts) -> [Finding] {
    [
      program(facts), service(facts), start(facts), version(facts), lock(facts),
      runtimeFolder(facts), socket(facts), stateFolder(facts), folders(facts), queue(facts), units(facts),
      lingering(facts), keyring(facts), key(facts), space(facts), setAside(facts),
    ]
  }

  /// Whether one of them keeps transfers from working.
  static func fails(_ findings: [Finding]) -> Bool { findings.contains { $0.verdict == .fail } }

  private static func program(_ facts: ServiceFacts) -> Finding {
    let variable = ServiceNames.programVariable
    if let named = facts.namedProgram, !named.isEmpty, !named.hasPrefix("/") {
      return Finding(
        "program", .warn, "\(variable) is not obeyed: \(named) is no full path", advice: "begin its path with /")
    }
    guard let program = facts.program else {
      // Without a runtime folder it is not looked for. The check of the folder fails.
      if facts.runtimeFault != nil {
        return Finding("program", .ok, "not looked for, since there is no runtime folder")
      }
      if let named = facts.namedProgram, !named.isEmpty {
        return Finding(
          "program", .fail, "\(variable) names \(named), which is no program that can be run",
          advice: "correct the path, or unset \(variable) to use the program that is installed")
      }
      return Finding(
        "program", .fail, "urlsessiond is not found, or other users can change it",
        advice: "install it beside urlsession, or name it in \(variable)")
    }
    return Finding("program", .ok, "urlsessiond is \(program)")
  }

  private static func service(_ facts: ServiceFacts) -> Finding {
    switch facts.service {
    case .running(_, let pid): Finding("service", .ok, "the service runs as process \(pid)")
    case .notRunning where facts.runtimeFault != nil || facts.missingQueue != nil:
      // The check of the folder says that it can't.
      Finding("service", .ok, "the service does not run")
    case .notRunning: Finding("service", .ok, "the service does not run; the next transfer starts it")
    case .waiting(let reason):
      Finding(
        "service", .fail, reason,
        advice:
          "make room, or make \(facts.stateFolder) and the files in it usable for this user; nothing has to be started again"
      )
    case .failing(let reason):
      Finding(
        "service", .fail, reason,
        advice: facts.isQueueLocked
          ? "see `urlsession log`, and end the process that `fuser \(facts.stateFolder)/lock` finds"
          : "see `urlsession log`, and end the process that holds the socket")
    }
  }

  /// The reason that apps were told when the service did not start.
  private static func start(_ facts: ServiceFacts) -> Finding {
    if case .running = facts.service { return Finding("start", .ok, "the service has started") }
    guard let failure = facts.startFailure else { return Finding("start", .ok, "no start of the service has failed") }
    let date = failure.date.map { " on \($0.ISO8601Format())" } ?? ""
    let mending = advice(against: failure.reason, facts)
    guard facts.hasSupervisor else {
      return Finding(
        "start", .warn, "the last start of the service failed\(date): \(failure.reason)",
        advice: "\(mending); the next transfer starts it again")
    }
    return Finding(
      "start", .fail, "the service does not start\(date): \(failure.reason)",
      advice: "\(mending); it is started again by itself")
  }

  /// A clause.
  private static func advice(against reason: String, _ facts: ServiceFacts) -> String {
    let ways = [
      (["No space left", "Disk quota exceeded", "disk is full"], "make room on the disk of \(facts.stateFolder)"),
      (["open to other users"], "chmod 700 the folder that it names"),
      (["belongs to another user"], "give what it names back to this user: as root, chown \(user)"),
      (
        ["Permission denied", "Operation not permitted", "Read-only file system", "readonly database"],
        "make what it names writable for this user"
      ),
      (["Too many open files"], "raise the limit of open files (ulimit -n), or end programs"),
      (["Cannot allocate memory", "Resource temporarily unavailable"], "end programs: memory or processes are short"),
      (["Input/output error", "disk I/O error"], "look after the disk: it does not read or write"),
    ]
    let way = ways.first { $0.0.contains { reason.localizedCaseInsensitiveContains($0) } }?.1
    return way ?? "mend what it says (`urlsession log` has what came before it)"
  }

  private static func version(_ facts: ServiceFacts) -> Finding {
    guard case .running(let version, _) = facts.service, version != facts.commandVersion else {
      return Finding("version", .ok, "urlsession is version \(facts.commandVersion)")
    }
    return Finding(
      "version", .warn, "urlsession is version \(facts.commandVersion), the service that runs is \(version)",
      advice: "end the service after an update: systemctl --user restart urlsessiond, or kill it; it goes on by itself")
  }

  /// A lock ends with its process, so one that is held by none does not stay. A service that holds it and does not answer
  /// keeps the next one from starting.
  private static func lock(_ facts: ServiceFacts) -> Finding {
    if let lock = facts.lock, lock.isFolder || lock.isLink || !lock.isOwn {
      return Finding(
        "lock", .fail, "\(facts.stateFolder)/lock is no file of this user",
        advice: "move it away; the service makes the file")
    }
    guard facts.isQueueLocked else { return Finding("lock", .ok, "no process holds the queue") }
    switch facts.service {
    case .running: return Finding("lock", .ok, "the service holds the queue")
    // The check of the service says that it fails.
    case .failing, .waiting: return Finding("lock", .ok, "a process holds the queue")
    case .notRunning:
      return Finding(
        "lock", .fail, "a process holds \(facts.stateFolder)/lock and does not answer on the socket",
        advice: "find it with `fuser \(facts.stateFolder)/lock`, and end it")
    }
  }

  private static func runtimeFolder(_ facts: ServiceFacts) -> Finding {
    let choice = "set XDG_RUNTIME_DIR to a folder that is this user's alone (mode 0700)"
    if let fault = facts.runtimeFault { return Finding("runtimeFolder", .fail, fault, advice: choice) }
    if facts.runtime == nil, let parent = facts.closedParents[facts.runtimeFolder] {
      return Finding(
        "runtimeFolder", .warn,
        "\(facts.runtimeFolder) can't be made, since \(parent) can't be written; the state folder has the socket",
        advice: choice)
    }
    return folder("runtimeFolder", facts.runtimeFolder, facts.runtime, facts, otherwise: choice)
  }

  private static func stateFolder(_ facts: ServiceFacts) -> Finding {
    if let remaining = facts.missingQueue {
      return Finding(
        "stateFolder", .fail,
        "the folder of the queue, \(facts.stateFolder), is gone: for \(ByteFormat.duration(remaining)) more it is waited for, and no "
          + "transfer goes on",
        advice: "mount its disk, or move it back; to begin with an empty queue at once, which loses the transfers: rm "
          + QueueMarkContent.path(socket: facts.socketPath))
    }
    return folder(
      "stateFolder", facts.stateFolder, facts.state, facts,
      otherwise: "make the folder writable for this user, or set XDG_STATE_HOME to one that is")
  }

  /// The folders in the state folder. A service does not start while it can't use one of them.
  private static func folders(_ facts: ServiceFacts) -> Finding {
    if let hidden = hidden("folders", facts) { return hidden }
    let all = facts.folders.sorted { $0.key < $1.key }.map { name, entry -> Finding in
      let path = "\(facts.stateFolder)/\(name)"
      return folder("folders", path, entry, facts, otherwise: "chmod 700 \(path)")
    }
    let faults = all.filter { $0.verdict != .ok }
    guard !faults.isEmpty else { return Finding("folders", .ok, "the folders in it can be used") }
    return Finding(
      "folders", .fail, faults.map(\.text).joined(separator: "; "),
      advice: faults.compactMap(\.advice).joined(separator: "; "))
  }

  /// Nothing is known of what lies in a state folder that can't be looked into. The check of that folder fails.
  private static func hidden(_ check: String, _ facts: ServiceFacts) -> Finding? {
    guard let state = facts.state, state.isFolder, !state.isWritable else { return nil }
    return Finding(check, .ok, "not looked at, since \(facts.stateFolder) is closed")
  }

  private static func queue(_ facts: ServiceFacts) -> Finding {
    if let hidden = hidden("queue", facts) { return hidden }
    let path = "\(facts.stateFolder)/\(ServiceNames.queue)"
    guard let queue = facts.queue else { return Finding("queue", .ok, "there is no queue yet; the service makes it") }
    guard queue.isFile else {
      return Finding(
        "queue", .fail, "\(path) is no file",
        advice: "bring the queue back before the service starts, which otherwise sets this aside and uses the copy")
    }
    guard queue.isOwn else {
      return Finding("queue", .fail, "\(path) belongs to another user", advice: "as root: chown \(user) \(path)")
    }
    guard queue.mode & 0o600 == 0o600 else {
      return Finding(
        "queue", .fail, "\(path) is closed to its user (\(octal(queue.mode)))", advice: "chmod 600 \(path)")
    }
    if let fault = queue.fault {
      return Finding(
        "queue", .fail, "\(path) can't be opened: \(fault)", advice: "mend the disk, or the rule that forbids it")
    }
    guard queue.isDatabase else {
      return Finding(
        "queue", .warn, "\(path) is no database",
        advice: "bring the queue back before the service starts, which otherwise sets this aside and uses the copy")
    }
    guard queue.mode & 0o077 == 0 else {
      return Finding(
        "queue", .warn, "\(path) is open to others (\(octal(queue.mode)))", advice: "chmod 600 \(path)")
    }
    return Finding("queue", .ok, "\(path) can be opened")
  }

  private static func folder(
    _ check: String, _ path: String, _ entry: ServiceFacts.Entry?, _ facts: ServiceFacts, otherwise: String
  ) -> Finding {
    guard let entry else {
      guard let parent = facts.closedParents[path] else {
        return Finding(check, .ok, "\(path) is not there yet; the service makes it")
      }
      return Finding(check, .fail, "\(path) can't be made, since \(parent) can't be written", advice: otherwise)
    }
    guard !entry.isLink else {
      return Finding(check, .fail, "\(path) is a symbolic link", advice: "put the folder back in its place")
    }
    guard entry.isFolder else {
      return Finding(check, .fail, "\(path) is no folder", advice: "move it away; the service makes the folder")
    }
    guard entry.isOwn else {
      return Finding(check, .fail, "\(path) belongs to another user", advice: "as root: chown \(user) \(path)")
    }
    guard entry.mode & 0o077 == 0 else {
      return Finding(
        check, .fail, "\(path) is open to others (\(octal(entry.mode)))", advice: "chmod 700 \(path)")
    }
    guard entry.isWritable else { return Finding(check, .fail, "\(path) can't be written", advice: otherwise) }
    return Finding(check, .ok, "\(path) is this user's alone")
  }

  private static func socket(_ facts: ServiceFacts) -> Finding {
    guard let entry = facts.socket else {
      if case .running = facts.service {
        return Finding(
          "socket", .warn, "the service runs, and is found by the socket in its state folder alone",
          advice: "log in, or give every app the same XDG_RUNTIME_DIR; transfers go on without")
      }
      return Finding("socket", .ok, "there is no socket; the service makes it")
    }
    guard entry.isOwn else {
      return Finding(
        "socket", .fail, "the socket belongs to another user", advice: "as root: rm \(facts.socketPath)")
    }
    guard !entry.isFolder else {
      return Finding(
        "socket", .fail, "a folder is in the place of the socket", advice: "move \(facts.socketPath) away")
    }
    guard entry.mode & 0o077 == 0 else {
      return Finding(
        "socket", .fail, "the socket is open to others (\(octal(entry.mode)))",
        advice: "let systemd make it with SocketMode=0600, or end the service, which makes it anew")
    }
    if facts.service == .notRunning {
      return Finding("socket", .ok, "the socket is an old one; the next service replaces it")
    }
    return Finding("socket", .ok, "the socket is this user's alone")
  }

  private static func units(_ facts: ServiceFacts) -> Finding {
    guard facts.hasSystemd else {
      return Finding(
        "units", .warn, "there is no systemd for this user: the service starts with the first app that needs it",
        advice: "start an app, or `urlsessiond --spawn-detached`, at login for transfers to go on by themselves")
    }
    guard let unit = facts.unit else {
      return Finding(
        "units", .warn, "systemd has no urlsessiond.service: after a restart of the machine transfers wait for an app",
        advice: "install the units with Scripts/install or the package")
    }
    guard facts.isUnitEnabled else {
      return Finding(
        "units", .warn, "\(unit) is not enabled: after a restart of the machine transfers wait for an app",
        advice: "systemctl --user enable --now urlsessiond.socket urlsessiond.service")
    }
    return Finding("units", .ok, "\(unit) is enabled")
  }

  private static func lingering(_ facts: ServiceFacts) -> Finding {
    guard facts.hasSystemd, facts.unit != nil else { return Finding("lingering", .ok, "it matters with systemd only") }
    switch facts.lingers {
    case true?: return Finding("lingering", .ok, "transfers go on after a logout")
    case false?:
      return Finding(
        "lingering", .warn, "transfers stop at the last logout, and go on at the next login",
        advice: "loginctl enable-linger")
    case nil: return Finding("lingering", .ok, "whether transfers go on after a logout is not known")
    }
  }

  private static func keyring(_ facts: ServiceFacts) -> Finding {
    guard !facts.hasKeyring else { return Finding("keyring", .ok, "the keychain answers") }
    return Finding(
      "keyring", .warn, "there is no keychain: passwords of transfers are lost when the service ends",
      advice: "unlock a keyring (gnome-keyring, KWallet), or name a file in URLSESSION_SECRETS_FILE")
  }

  /// The file in which the key of the queue is where there is no keychain.
  private static func key(_ facts: ServiceFacts) -> Finding {
    if let hidden = hidden("key", facts) { return hidden }
    let path = "\(facts.stateFolder)/key"
    switch facts.key {
    case .none: return Finding("key", .ok, "no file has a key of the queue, and none is needed")
    case .missing:
      return Finding(
        "key", .fail, "the key of the queue is missing: \(path) is gone",
        advice: "bring it back from a backup within a day: the transfers that it has sealed wait for it")
    case .found(isOwn: false, _, _, _):
      return Finding(
        "key", .fail, "\(path) is no file of this user", advice: "move it away, and bring the key back from a backup")
    case .found(_, _, _, isWhole: false):
      return Finding(
        "key", .fail, "\(path) is shorter than a key", advice: "bring it back from a backup before the service starts")
    case .found(_, _, isReadable: false, _):
      return Finding("key", .fail, "\(path) can't be read", advice: "chmod 600 \(path)")
    case .found(_, let mode, _, _) where mode & 0o077 != 0:
      return Finding("key", .warn, "\(path) is open to others (\(octal(mode)))", advice: "chmod 600 \(path)")
    case .found: return Finding("key", .ok, "\(path) is this user's alone; a backup of the queue needs it, too")
    }
  }

  /// Below it the service is likely to hold transfers back.
  static let littleSpace: Int64 = 100_000_000

  private static func space(_ facts: ServiceFacts) -> Finding {
    guard facts.hasFreeFiles else {
      return Finding(
        "space", .fail, "no more files can be made on the disk of \(facts.stateFolder)",
        advice: "remove files: the disk has no inodes left (df -i)")
    }
    guard let free = facts.freeSpace else { return Finding("space", .ok, "the free space is not known") }
    let text = "\(ByteFormat.bytes(free)) are free for \(facts.stateFolder)"
    if free < 1_000_000 { return Finding("space", .fail, text, advice: "make room: the queue can't be written") }
    return free < littleSpace ? Finding("space", .warn, text, advice: "make room") : Finding("space", .ok, text)
  }

  private static func setAside(_ facts: ServiceFacts) -> Finding {
    let count = facts.setAside.count + facts.quarantined.count
    guard count > 0 else { return Finding("setAside", .ok, "no files were set aside") }
    let folders = [("set-aside", facts.setAside), ("quarantine", facts.quarantined)].filter { !$0.1.isEmpty }
      .map { "\(facts.stateFolder)/\($0.0)" }.joined(separator: " and ")
    let oldest = firstRemoval(facts.setAside + facts.quarantined).map {
      ", the oldest on \($0.ISO8601Format(.iso8601.year().month().day()))"
    }
    return Finding(
      "setAside", .warn,
      "files that the queue did not know or that an app did not come back for, or a damaged queue, are in \(folders)",
      advice:
        "take what you need: the service removes each folder \(RemainsLimits.days) days after the date in its "
        + "name\(oldest ?? ""); sooner, the oldest first, while all of them have more than \(RemainsLimits.gibibytes) GiB, "
        + "but none on its first day")
  }

  /// When the first folder is removed; nil where none has a date in its name.
  private static func firstRemoval(_ folders: [String]) -> Date? {
    folders.compactMap { name in
      name.firstIndex(of: "Z").flatMap { try? Date(String(name[...$0]), strategy: .iso8601) }
    }.min()?.addingTimeInterval(TimeInterval(RemainsLimits.days) * 86_400)
  }

  private static var user: String { NSUserName() }

  private static func octal(_ mode: UInt32) -> String { "0" + String(mode & 0o7777, radix: 8) }
}
