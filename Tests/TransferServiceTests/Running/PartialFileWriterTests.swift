import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import NIOPosix
import Synchronization
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

@Suite struct PartialFileWriterTests {
  private let folder: TemporaryFolder
  private let disk = FaultyFileSystem()

  init() throws { folder = try TemporaryFolder() }

  /// Runs `body` with a writer, on its loop; `commits` has the offsets that were committed.
  private func withWriter(
    time: FakeTime? = nil,
    _ body: @escaping @Sendable (PartialFileWriter, Recorder<Int64>) async throws -> Void
  ) async throws {
    let file = try disk.open("\(folder.path)/part")
    let executor = try #require(LoopExecutor.all.first)
    let commits = Recorder<Int64>()
    let ends = Recorder<Result<Void, any Error>>()
    Task(executorPreference: executor) {
      let writer = PartialFileWriter(
        file: file, offset: 0, pool: .singleton, loop: executor.loop, time: time?.time,
        commit: { offset, _ in commits.record(offset) })
      let result: Result<Void, any Error>
      do {
        try await body(writer, commits)
        result = .success(())
      } catch { result = .failure(error) }
      await writer.close()
      ends.record(result)
    }
    try await ends.next().get()
  }

  // Sendable by hand: it is used on the loop of the test alone.
  /// Its timers fire when the test lets time pass.
  private final class FakeTime: @unchecked Sendable {
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var timers: [Int: (due: NIODeadline, action: @Sendable () -> Void)] = [:]
    private var count = 0

    var time: PartialFileWriter.Time {
      PartialFileWriter.Time(now: { self.now }) { delay, action in
        self.count += 1
        let number = self.count
        self.timers[number] = (self.now + delay, action)
        return { self.timers[number] = nil }
      }
    }

    var isSet: Bool { !timers.isEmpty }

    func advance(by delay: TimeAmount) {
      now = now + delay
      for (number, timer) in timers where timer.due <= now {
        timers[number] = nil
        timer.action()
      }
    }
  }

  /// A server sends a piece and then nothing more.
  @Test(arguments: [1000, 1_500_000]) func bytesAfterWhichNoneComeAreCommitted(_ count: Int) async throws {
    let time = FakeTime()
    try await withWriter(time: time) { writer, commits in
      #expect(!time.isSet)
      try await writer.write(ByteBuffer(repeating: 1, count: count))
      time.advance(by: .milliseconds(1_900))
      #expect(commits.all.isEmpty && time.isSet)
      time.advance(by: .milliseconds(200))
      #expect(try await commits.next() == count)
      // Behind the commit, whose end the loop is told of.
      try await writer.flush()
      #expect(writer.committed == count && commits.all == [Int64(count)])
      time.advance(by: .seconds(3))
      #expect(!time.isSet, "all bytes are committed")
      // The age of the next ones counts from their time.
      try await writer.write(ByteBuffer(repeating: 1, count: 1))
      try await writer.write(ByteBuffer(repeating: 1, count: 1))
      try await writer.flush()
      #expect(writer.committed == count + 2)
    }
    #expect(!time.isSet)
  }

  /// No time passes, and no more bytes come.
  @Test func bytesAreCommittedWhenItIsAskedFor() async throws {
    try await withWriter(time: FakeTime()) { writer, commits in
      try await writer.write(ByteBuffer(repeating: 1, count: 1000))
      await withCheckedContinuation { done in writer.commitSoon { done.resume() } }
      #expect(writer.committed == 1000 && commits.all == [1000])
      // Nothing is left to commit.
      await withCheckedContinuation { done in writer.commitSoon { done.resume() } }
      #expect(commits.all == [1000])
      try await writer.write(ByteBuffer(repeating: 1, count: 10))
      let ended = Recorder<Int64>()
      for _ in 0..<3 { writer.commitSoon { ended.record(writer.committed) } }
      for _ in 0..<3 { #expect(try await ended.next() == 1010) }
      #expect(commits.all == [1000, 1010])
    }
  }

  @Test func aCommitThatFailsIsWaitedForNoLonger() async throws {
    disk.set([.init(.sync, code: EIO, times: 1)])
    try await withWriter(time: FakeTime()) { writer, commits in
      try await writer.write(ByteBuffer(repeating: 1, count: 1000))
      for _ in 0..<2 { await withCheckedContinuation { done in writer.commitSoon { done.resume() } } }
      #expect(commits.all.isEmpty)
      await #expect(throws: SystemError.self) { try await writer.flush() }
    }
  }

  @Test func aFileThatIsClosedIsWaitedForNoLonger() async throws {
    let ended = Recorder<Void>()
    try await withWriter(time: FakeTime()) { writer, _ in
      try await writer.write(ByteBuffer(repeating: 1, count: 1000))
      writer.commitSoon { ended.record(()) }
    }
    try await ended.next()
  }

  /// The write fails on the pool, while no call is under way that could say so.
  @Test func aLateCheckpointThatFailsIsToldByTheNextCall() async throws {
    disk.set([.init(.sync, code: EIO, times: 1)])
    let time = FakeTime()
    try await withWriter(time: time) { writer, commits in
      try await writer.write(ByteBuffer(repeating: 1, count: 1000))
      time.advance(by: .seconds(2))
      do {
        try await writer.flush()
        Issue.record("the flush did not fail")
      } catch { #expect((error as? SystemError)?.code == EIO) }
      #expect(commits.all.isEmpty && writer.committed == 0 && !time.isSet)
    }
  }

  /// What follows the last bytes is done where they are written, and the file is closed once.
  @Test func theEndIsOneTurnOfThePool() async throws {
    let names = Recorder<String>()
    try await withWriter { writer, commits in
      try await writer.write(ByteBuffer(string: "abc"))
      try await writer.end { names.record("renamed") }
      #expect(names.all == ["renamed"] && commits.all.isEmpty && writer.committed == 0)
    }
    #expect(try String(contentsOfFile: "\(folder.path)/part", encoding: .utf8) == "abc")
    #expect(disk.log.filter { $0.hasPrefix("write") || $0.hasPrefix("sync") }.count == 2)
  }

  /// Nothing is committed of bytes that may not be on the disk, by no later call.
  @Test(arguments: [FaultyFileSystem.Operation.write, .sync, nil]) func anEndThatFailsKeepsFailing(
    _ operation: FaultyFileSystem.Operation?
  ) async throws {
    if let operation { disk.set([.init(operation, code: EIO, times: 1)]) }
    try await withWriter { writer, commits in
      try await writer.write(ByteBuffer(string: "abc"))
      for isFirst in [true, false] {
        do {
          if isFirst { try await writer.end { throw SystemError(EIO, "rename") } } else { try await writer.flush() }
          Issue.record("the call did not fail")
        } catch { #expect((error as? SystemError)?.code == EIO) }
      }
      #expect(commits.all.isEmpty && writer.committed == 0)
    }
  }

  /// A server that sends single bytes causes neither a write for each nor the storage of each to be kept.
  @Test func smallPiecesAreWrittenTogether() async throws {
    try await withWriter { writer, commits in
      for index in 0..<10_000 {
        var piece = ByteBufferAllocator().buffer(capacity: 4096)
        piece.writeInteger(UInt8(truncatingIfNeeded: index))
        try await writer.write(piece)
      }
      try await writer.flush()
      #expect(writer.committed == 10_000 && commits.all.last == 10_000)
    }
    let content = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/part"))
    #expect(content.elementsEqual((0..<10_000).map { UInt8(truncatingIfNeeded: $0) }))
    #expect(disk.log.count { $0.hasPrefix("write") } <= 10)
  }

  /// One batch is being written, and one is full: a disk that hangs takes no more memory than these.
  @Test func aMiBIsOnItsWayWhileTheDiskHangs() async throws {
    let taken = Recorder<Int64>()
    let writing = try await disk.holding(.write, path: "part") { isReached in
      let writing = Task {
        try await withWriter { writer, _ in
          for _ in 0..<64 {
            try await writer.write(ByteBuffer(repeating: 1, count: 1 << 16))
            taken.record(writer.received)
          }
          try await writer.flush()
        }
      }
      try await eventually("the first batch to be written") { isReached() }
      // Behind the piece that waits.
      try await #require(LoopExecutor.all.first).loop.submit {}.get()
      #expect(taken.all.last ?? 0 < 1 << 20)
      return writing
    }
    try await writing.value
    #expect(taken.all.last == 4 << 20)
  }

  @Test func nothingIsCommittedThatWasNotSynced() async throws {
    disk.set([.init(.sync, code: EIO, after: 1)])
    await #expect(throws: SystemError.self) {
      try await withWriter { writer, commits in
        try await writer.write(ByteBuffer(repeating: 1, count: 1000))
        try await writer.flush()
        #expect(commits.all == [1000])
        try await writer.write(ByteBuffer(repeating: 1, count: 1000))
        try await writer.flush()
      }
    }
  }

  /// A checkpoint that failed is not forgotten: neither is a later one begun, nor is a byte taken over.
  @Test func afterAFailedCheckpointEveryCallFails() async throws {
    disk.set([.init(.sync, code: EIO, times: 1)])
    try await withWriter { writer, commits in
      try await writer.write(ByteBuffer(repeating: 1, count: 1000))
      for _ in 0..<2 {
        do {
          try await writer.flush()
          Issue.record("the flush did not fail")
        } catch { #expect((error as? SystemError)?.code == EIO) }
      }
      do {
        try await writer.write(ByteBuffer(repeating: 1, count: 1))
        Issue.record("the write did not fail")
      } catch { #expect((error as? SystemError)?.code == EIO) }
      #expect(commits.all.isEmpty && writer.committed == 0)
    }
  }

  /// The next checkpoint begins with the first write that finds the one before over, and counts what is there then.
  @Test func checkpointsFollowOneAnother() async throws {
    try await withWriter { writer, commits in
      for _ in 0..<40 { try await writer.write(ByteBuffer(repeating: 1, count: 1 << 20)) }
      try await writer.flush()
      #expect(commits.all == commits.all.sorted() && commits.all.last == 40 << 20)
      #expect(commits.count >= 5)
      #expect(Set(commits.all).count == commits.count)
    }
  }
}
