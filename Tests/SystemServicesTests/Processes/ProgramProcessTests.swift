import Foundation
import LoopbackServer
import Testing

@testable import SystemServices

@Suite struct ProgramProcessTests {
  private let folder = "/tmp/program-process-\(UUID().uuidString.prefix(8))"

  init() throws { try PrivateDirectory.ensure(folder) }

  private func remove() { try? FileManager.default.removeItem(atPath: folder) }

  @Test func thisProcessIsFound() throws {
    defer { remove() }
    let program = try #require(ExecutedProgram()?.path)
    let own = try #require(ProgramProcess(getpid(), running: program))
    #expect(own.arguments == Array(CommandLine.arguments.dropFirst()))
    #expect(ProgramProcess.all(running: program).contains(own))
    #expect(ProgramProcess(getpid(), running: program + "-other") == nil)
    #expect(ProgramProcess(-1, running: program) == nil)
  }

  @Test func onlyTheOneThatHasTheLockHasIt() throws {
    defer { remove() }
    let own = ProgramProcess(identity: try #require(ProcessIdentity(pid: getpid())))
    let (locked, open) = (folder + "/locked", folder + "/open")
    let lock = try #require(try FileLock.acquire(locked))
    #expect(FileManager.default.createFile(atPath: open, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: open))
    #expect(own.hasLock(locked) && !own.hasLock(open) && !own.hasLock(folder + "/absent"))
    // A file of that name that another service has made since.
    #expect(unlink(locked) == 0 && FileManager.default.createFile(atPath: locked, contents: nil))
    #expect(!own.hasLock(locked))
    withExtendedLifetime((lock, file)) {}
  }

  @Test(.timeLimit(.minutes(2))) func aStoppedProcessThatHasTheLockIsEnded() async throws {
    defer { remove() }
    let path = folder + "/lock"
    // A child has the lock with the open file.
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let pid = try DetachedProcess.start("/bin/sleep", arguments: ["600"], environment: [:], channel: descriptor)
    close(descriptor)
    let (ends, ended) = AsyncStream.makeStream(of: DetachedProcess.End.self)
    DetachedProcess.whenEnded(pid) { ended.yield($0) }
    let program = try #require(ExecutedProgram(ofProcess: pid)?.path)
    let process = try #require(ProgramProcess(pid, running: program))
    // The kernel has the program before it has the arguments.
    try await eventually("the program to have begun") { !process.arguments.isEmpty }
    kill(pid, SIGSTOP)
    #expect(process.arguments == ["600"] && process.identity.parent == getpid())
    let earlier = ProcessIdentity(pid: pid, startTime: process.identity.startTime - 1)
    #expect(!ProgramProcess(identity: earlier).end(holding: path), "it has the number of the one that is meant")
    #expect(FileManager.default.createFile(atPath: folder + "/other", contents: nil))
    #expect(!process.end(holding: folder + "/other"))
    #expect(process.identity.isAlive)
    #expect(process.end(holding: path))
    for await end in ends {
      #expect(end == .killed(signal: SIGKILL))
      break
    }
    #expect(!process.end(holding: path) && process.arguments.isEmpty)
    #expect(ProgramProcess(pid, running: program) == nil)
  }

  static let descriptors: [(text: String, isLocked: Bool)] = [
    ("pos:\t0\nflags:\t02100001\nlock:\t1: FLOCK  ADVISORY  WRITE 18247 fe:00:16236734 0 EOF\n", true),
    ("pos:\t0\nflags:\t02100001\nmnt_id:\t27\nino:\t16236734\n", false),
    ("lock:\t1: FLOCK  ADVISORY  READ 18247 fe:00:16236734 0 EOF\n", false),
    ("lock:\t1: POSIX  ADVISORY  WRITE 18247 fe:00:16236734 0 EOF\n", false),
    ("lock:\t1: FLOCK\n", false),
    ("", false),
  ]

  @Test(arguments: descriptors) func aLockIsALineOfTheDescriptor(text: String, isLocked: Bool) {
    #expect(ProgramProcess.isLocked(descriptor: text) == isLocked)
  }
}
