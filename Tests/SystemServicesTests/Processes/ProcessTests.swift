import CLinux
import ChildProcess
import Foundation
import Testing

@testable import SystemServices

@Suite struct ProcessTests {
  static let statLines: [(line: String, state: Character?, start: UInt64?)] = [
    ("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 10 11", "S", 99),
    ("1 (a) b (c)) R 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 10", "R", 123_456),
    ("1 (short) S 1 2 3", nil, nil),
    ("", nil, nil),
    ("1 no parentheses", nil, nil),
  ]

  @Test(arguments: statLines)
  func startTimeIsParsedBehindAnyProgramName(line: String, state: Character?, start: UInt64?) {
    let parsed = ProcessIdentity.parse(stat: line)
    #expect(parsed?.state == state)
    #expect(parsed?.startTime == start)
  }

  @Test func processIsIdentifiedByItsStartTime() throws {
    let own = try #require(ProcessIdentity(pid: getpid()))
    #expect(own.isAlive && own.parent == getppid())
    #expect(!ProcessIdentity(pid: own.pid, startTime: own.startTime + 1).isAlive)
    #expect(ProcessIdentity(pid: own.pid, startTime: own.startTime + 1).parent == nil)
    #expect(ProcessIdentity(pid: -1) == nil)
  }

  @Test func peerIsIdentifiedByTheKernel() throws {
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { pair.forEach { close($0) } }
    let credentials = try PeerCredentials(socket: pair[0])
    #expect(credentials == PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid()))
    let identity = try PeerIdentity(credentials)
    let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(identity.executable.path == link)
    #expect(throws: Never.self) { try identity.executable.checkUnchanged() }
  }

  private static let (one, other) = (
    PeerIdentity.Sighting.File(device: 1, inode: 10), PeerIdentity.Sighting.File(device: 1, inode: 11)
  )

  static let sightings: [(name: String, sighting: PeerIdentity.Sighting, path: String?)] = [
    ("where it is", .init(link: "/a", file: one, names: 1, here: one, sharesMounts: true), "/a"),
    ("in a container of its own", .init(link: "/a", file: one, names: 1, here: one, sharesMounts: false), "/a"),
    ("another file", .init(link: "/a", file: one, names: 1, here: other, sharesMounts: false), nil),
    ("another file on a mount", .init(link: "/a", file: one, names: 1, here: other, sharesMounts: true), nil),
    ("nothing there", .init(link: "/a", file: one, names: 1, here: nil, sharesMounts: true), nil),
    ("replaced", .init(link: "/a (deleted)", file: one, names: 0, here: nil, sharesMounts: true), "/a"),
    ("deleted elsewhere", .init(link: "/a (deleted)", file: one, names: 0, here: nil, sharesMounts: false), nil),
    ("so called", .init(link: "/a (deleted)", file: one, names: 1, here: one, sharesMounts: true), "/a (deleted)"),
    ("so called elsewhere", .init(link: "/a (deleted)", file: one, names: 1, here: nil, sharesMounts: true), nil),
    ("no path", .init(link: "anon", file: one, names: 0, here: nil, sharesMounts: true), nil),
  ]

  @Test(arguments: sightings.indices)
  func appIsIdentifiedByTheFileAtItsPath(index: Int) {
    #expect(Self.sightings[index].sighting.path == Self.sightings[index].path, "\(Self.sightings[index].name)")
  }

  /// A program that says "ready" and then stops until it is killed.
  private static let stopping = "echo ready; kill -STOP $$"

  /// Starts it and waits until it is where it says that.
  private func start(_ path: String, _ arguments: [String], while body: (pid_t) throws -> Void) async throws -> String {
    let output = Pipe()
    let pid = try DetachedProcess.start(
      path, arguments: arguments, environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"],
      output: output.fileHandleForWriting.fileDescriptor)
    try output.fileHandleForWriting.close()
    let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let result = Result { if text.hasPrefix("ready") { try body(pid) } }
    kill(pid, SIGKILL)
    await withCheckedContinuation { ended in DetachedProcess.whenEnded(pid) { _ in ended.resume() } }
    try result.get()
    return text
  }

  private func withProgram(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "program-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let shell = try #require(realpath("/bin/sh", nil))
    defer { free(shell) }
    try ProgramFile.copy(String(cString: shell), to: folder + "/app")
    try await body(folder + "/app")
  }

  @Test func replacedProgramKeepsItsIdentity() async throws {
    try await withProgram { path in
      let text = try await start(path, ["-c", Self.stopping]) { pid in
        let credentials = PeerCredentials(pid: pid, uid: geteuid(), gid: 0)
        let before = try PeerIdentity(credentials)
        #expect((before.executable.path as NSString).lastPathComponent == "app")
        try FileManager.default.removeItem(atPath: path)
        #expect(try PeerIdentity(credentials) == before)
        try Data("new".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try PeerIdentity(credentials) == before)
      }
      #expect(text == "ready\n")
    }
  }

  /// Mounts of its own give a process any path that it likes.
  @Test func pathInAnotherMountNamespaceIsRefused() async throws {
    try await withProgram { path in
      let mask = "mount --bind \(path).other \(path) && exec \(path) -c '\(Self.stopping)'"
      try ProgramFile.copy(path, to: path + ".other")
      let text = try await start("/usr/bin/unshare", ["--map-root-user", "--mount", "/bin/sh", "-c", mask]) { pid in
        let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
        #expect((link as NSString).lastPathComponent == "app")
        #expect(throws: PeerIdentity.Refusal.elsewhere(pid, link)) {
          try PeerIdentity(PeerCredentials(pid: pid, uid: geteuid(), gid: 0))
        }
      }
      // Not possible where users may not have mounts of their own.
      if !text.hasPrefix("ready") { print("not tested: \(text)") }
    }
  }

  /// Without a look at the program, which its file system may hold up.
  @Test func programsAreToldApartBeforeTheyAreLookedAt() async throws {
    let own = PeerIdentity.rememberedProgram(of: getpid())
    let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(own.hasPrefix("mnt:[") && own.hasSuffix("] " + link))
    try await withProgram { path in
      let text = try await start(path, ["-c", Self.stopping]) { pid in
        let other = PeerIdentity.rememberedProgram(of: pid)
        #expect(other != own && other.hasSuffix("/app"))
      }
      #expect(text == "ready\n")
    }
    #expect(PeerIdentity.rememberedProgram(of: 4_000_000) == "unknown unknown")
  }

  @Test func anotherUserIsRefused() {
    let stranger = PeerCredentials(pid: getpid(), uid: geteuid() + 1, gid: 0)
    #expect(throws: PeerIdentity.Refusal.otherUser(geteuid() + 1)) { try PeerIdentity(stranger) }
  }

  @Test func aDeadProcessIsRefused() async throws {
    let pid = try DetachedProcess.start("/bin/true", arguments: [], environment: [:])
    await withCheckedContinuation { ended in DetachedProcess.whenEnded(pid) { _ in ended.resume() } }
    #expect(throws: PeerIdentity.Refusal.gone(pid)) {
      try PeerIdentity(PeerCredentials(pid: pid, uid: geteuid(), gid: 0))
    }
  }

  @Test func aReplacedProgramIsNoticed() throws {
    // A folder that others may write to, where a new program may be anybody's.
    let folder = NSTemporaryDirectory() + "programs-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    chmod(folder, 0o777)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/program"
    try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
    var status = stat()
    #expect(lstat(path, &status) == 0)
    let identity = ExecutableIdentity(
      path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
    #expect(throws: Never.self) { try identity.checkUnchanged() }
    chmod(path, 0o757)
    #expect(throws: ExecutableIdentity.Change.writableByOthers(path)) { try identity.checkUnchanged() }
    chmod(path, 0o600)
    #expect(throws: ExecutableIdentity.Change.notAProgram(path)) {
      // Root may execute what has any x bit; without one not even root.
      try identity.checkUnchanged()
    }
    try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
    #expect(throws: ExecutableIdentity.Change.missing(path)) { try identity.checkUnchanged() }
    try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
    #expect(throws: ExecutableIdentity.Change.replaced(path)) { try identity.checkUnchanged() }
  }

  @Test func aProgramThatComputesTooLongIsEnded() async throws {
    let pid = try DetachedProcess.start("/bin/sh", arguments: ["-c", "while :; do :; done"], environment: [:])
    #expect(clinux_limit_computing(pid, 1) == 0)
    let end = await withCheckedContinuation { done in DetachedProcess.whenEnded(pid) { done.resume(returning: $0) } }
    #expect(end == .killed(signal: SIGKILL) || end == .killed(signal: SIGXCPU))
  }

  @Test func aStartedProgramHasItsOwnSessionAndNoFileOfOurs() async throws {
    let path = NSTemporaryDirectory() + "output-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let output = open(path, O_CREAT | O_RDWR, 0o600)
    let leak = open("/dev/null", O_RDONLY)  // Not close-on-exec, on purpose.
    defer {
      close(output)
      close(leak)
    }
    let script = "echo $A; set -- $(cat /proc/$$/stat); [ $6 = $$ ] && echo leader; ls /proc/self/fd | wc -l; exit 3"
    let pid = try DetachedProcess.start(
      "/bin/sh", arguments: ["-c", script], environment: ["A": "b c", "PATH": "/usr/bin:/bin"], output: output)
    let end = await withCheckedContinuation { done in DetachedProcess.whenEnded(pid) { done.resume(returning: $0) } }
    #expect(end == .exited(3))
    // Four: standard input, output, error, and the folder that ls reads.
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "b c\nleader\n4\n")
  }

  @Test func aProgramThatCannotBeStartedIsAnError() {
    #expect(throws: SystemError.self) { try DetachedProcess.start("/none", arguments: [], environment: [:]) }
  }
}
