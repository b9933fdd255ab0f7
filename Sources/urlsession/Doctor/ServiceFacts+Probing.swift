import Foundation
import SystemServices
import TransferProtocol
import URLLoadingSystem

extension ServiceFacts {
  /// Looks at the machine. The service is not started for it.
  static func probe(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async -> ServiceFacts {
    var facts = folders(environment)
    facts.runtime = entry(facts.runtimeFolder)
    facts.socket = entry(facts.socketPath)
    facts.state = entry(facts.stateFolder)
    facts.missingQueue = facts.remainingWaitForQueue()
    facts.queue = queue("\(facts.stateFolder)/\(ServiceNames.queue)")
    for name in ServiceNames.folders { facts.folders[name] = entry("\(facts.stateFolder)/\(name)") }
    for folder in [facts.runtimeFolder, facts.stateFolder] {
      let parent = nearest(folder)
      if parent != folder, access(parent, W_OK | X_OK) != 0 { facts.closedParents[folder] = parent }
    }
    facts.program = await ServiceConnection.program(environment: environment)
    facts.namedProgram = environment[ServiceNames.programVariable]
    if facts.runtimeFault == nil { await facts.askService(environment) }
    facts.isQueueLocked = isLocked("\(facts.stateFolder)/lock")
    facts.lock = entry("\(facts.stateFolder)/lock")
    facts.startFailure = ServiceStartFailure(inLogAt: "\(facts.stateFolder)/\(ServiceNames.log)")
    facts.hasSupervisor = [facts.socketPath, "\(facts.stateFolder)/\(ServiceNames.socket)"]
      .contains { isLocked($0 + ".supervisor") }
    facts.probeSystemd(environment)
    facts.hasKeyring = await UserSecrets.store(asksUser: false, environment: environment) != nil
    facts.key = keyFile("\(facts.stateFolder)/key")
    facts.probeSpace()
    facts.setAside = names("\(facts.stateFolder)/set-aside")
    facts.quarantined = names("\(facts.stateFolder)/quarantine")
    return facts
  }

  /// Whether the service waits for the folder of its queue.
  static func isQueueMissing(environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
    folders(environment).remainingWaitForQueue() != nil
  }

  private func remainingWaitForQueue() -> Double? {
    QueueMarkContent.remainingWait(socket: socketPath, stateFolder: stateFolder, queue: ServiceNames.queue)
  }

  private static func folders(_ environment: [String: String]) -> ServiceFacts {
    var fault: String?
    let directories: UserDirectories?
    do { directories = try UserDirectories(environment: environment) } catch {
      fault = "\(error)"
      // With a runtime folder that is named no folder is looked for.
      directories = try? UserDirectories(environment: environment.merging(["XDG_RUNTIME_DIR": "/"]) { $1 })
    }
    var runtime = "\(directories?.runtime ?? "")/\(ServiceNames.directory)"
    var socket = "\(runtime)/\(ServiceNames.socket)"
    if let other = environment[ServiceNames.socketVariable], other.hasPrefix("/") {
      socket = other
      runtime = (other as NSString).deletingLastPathComponent
    }
    var facts = ServiceFacts(
      commandVersion: ProgramVersion.current, runtimeFolder: runtime, socketPath: socket,
      stateFolder: "\(directories?.state ?? "")/\(ServiceNames.directory)")
    facts.runtimeFault = fault
    return facts
  }

  private mutating func askService(_ environment: [String: String]) async {
    do {
      let connection = try await ServiceConnection.open(startsService: false, environment: environment)
      let version = connection.service
      connection.close()
      service = .running(version: version.program, pid: version.processIdentifier)
    } catch let error as ServiceUnavailable where error.isNotRunning {
      service = .notRunning
    } catch let error as Refusal {
      let isWaiting = error.reason == .storage && error.hasTooManyConnections != true
      service = isWaiting ? .waiting(error.message) : .failing(error.message)
    } catch {
      service = .failing("\(error)")
    }
  }

  private mutating func probeSystemd(_ environment: [String: String]) {
    // sd_booted(3), and the manager of this user.
    let bus = environment["XDG_RUNTIME_DIR"].map { "\($0)/systemd" }
    hasSystemd = Self.exists("/run/systemd/system") && (bus.map(Self.exists) ?? false)
    unit = ServiceUnits.file(LogSource.unit, environment: environment)
    isUnitEnabled = ServiceUnits.isEnabled(LogSource.unit, environment: environment)
    // logind keeps a file for each user who lingers.
    lingers = Self.exists("/var/lib/systemd") ? Self.exists("/var/lib/systemd/linger/\(NSUserName())") : nil
  }

  private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private static func names(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  static func entry(_ path: String) -> Entry? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    let isFolder = status.st_mode & S_IFMT == S_IFDIR
    return Entry(
      isFolder: isFolder, isLink: status.st_mode & S_IFMT == S_IFLNK, isOwn: status.st_uid == geteuid(),
      mode: status.st_mode & 0o7777, isWritable: access(path, isFolder ? W_OK | X_OK : W_OK) == 0)
  }

  static func queue(_ path: String) -> Queue? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    guard stat(path, &status) == 0 else {
      let code = errno
      let leadsNowhere = [ENOENT, ENOTDIR, ELOOP].contains(code)
      return leadsNowhere ? Queue(isFile: false) : Queue(fault: String(cString: strerror(code)))
    }
    let isFile = status.st_mode & S_IFMT == S_IFREG
    var queue = Queue(isFile: isFile, isOwn: status.st_uid == geteuid(), mode: status.st_mode & 0o7777)
    if isFile { queue.open(path) }
    return queue
  }

  private static func keyFile(_ path: String) -> KeyFile {
    var status = stat()
    guard lstat(path, &status) == 0 else { return exists(path + ".missing") ? .missing : .none }
    let isFile = status.st_mode & S_IFMT == S_IFREG
    return .found(
      isOwn: isFile && status.st_uid == geteuid(), mode: status.st_mode & 0o7777,
      isReadable: isFile && access(path, R_OK) == 0, isWhole: status.st_size >= 32)
  }

  /// The folder, or the nearest one above it that is there.
  private static func nearest(_ folder: String) -> String {
    var folder = folder
    while !exists(folder), folder.count > 1 { folder = (folder as NSString).deletingLastPathComponent }
    return folder
  }

  /// Of the disk that the state folder is on, or will be.
  private mutating func probeSpace() {
    var space = statvfs()
    // A file system without blocks has no files of users.
    guard statvfs(Self.nearest(stateFolder), &space) == 0, space.f_blocks > 0 else { return }
    let (bytes, overflows) = Int64(clamping: space.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: space.f_frsize))
    freeSpace = overflows ? .max : bytes
    // 0 of 0: the file system has no such limit.
    hasFreeFiles = space.f_files == 0 || space.f_favail > 0
  }

  /// Whether a process holds the lock. The kernel's list is read, since a lock that is tried keeps a service that starts
  /// at this moment from having it.
  private static func isLocked(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0, let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else {
      return false
    }
    return isLocked(inode: UInt64(status.st_ino), in: locks)
  }

  /// proc(5): `1: FLOCK  ADVISORY  WRITE 708 08:01:13548 0 EOF`, the device and the inode in the sixth field.
  static func isLocked(inode: UInt64, in locks: String) -> Bool {
    locks.split(separator: "\n").contains { line in
      let fields = line.split(separator: " ")
      guard fields.count > 5, fields[1] == "FLOCK" else { return false }
      return fields[5].split(separator: ":").last == "\(inode)"
    }
  }
}

extension ServiceFacts.Queue {
  /// SQLite's file format, 1.3: the first bytes of every database.
  private static let header = Array("SQLite format 3\0".utf8)

  /// Only reads: the service may have it open.
  fileprivate mutating func open(_ path: String) {
    guard access(path, R_OK | W_OK) == 0 else { return fault = String(cString: strerror(errno)) }
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return fault = String(cString: strerror(errno)) }
    defer { close(descriptor) }
    var start = [UInt8](repeating: 0, count: Self.header.count)
    let count = read(descriptor, &start, start.count)
    guard count >= 0 else { return fault = String(cString: strerror(errno)) }
    isDatabase = count == 0 || start == Self.header
  }
}
