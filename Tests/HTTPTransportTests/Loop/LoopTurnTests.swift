import Glibc
import HTTPTransport
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// Work that never waits for a socket does not keep the loop from looking at them.
@Suite struct LoopTurnTests {
  /// Notes that bytes have come.
  private final class Arrival: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let count = Atomic<Int>(0)
    var hasCome: Bool { count.load(ordering: .acquiring) > 0 }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { count.add(1, ordering: .releasing) }
  }

  enum Pause: CaseIterable { case turn, handover }

  /// Two flows of work that hand over to one another. Confined to the loop.
  private final class Pair: @unchecked Sendable {
    private var waiting: UnsafeContinuation<Void, Never>?
    var isOver = false

    func handOver() async {
      guard !isOver else { return }
      await withUnsafeContinuation { mine in
        let other = waiting
        waiting = mine
        other?.resume()
      }
    }

    func end() {
      isOver = true
      waiting?.resume()
    }
  }

  /// A byte that a job sends through a pipe to a channel of its own loop is read while the job goes on: soon after it
  /// asked for a turn, and also when there is always another job to go on with.
  @Test(arguments: Pause.allCases) func socketsAreReadWhileAJobGoesOn(after pause: Pause) async throws {
    let executor = try #require(LoopExecutor.all.first)
    let arrival = Arrival()
    var ends: [CInt] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let (output, input) = (ends[1], ends[0])
    defer { close(output) }
    let channel = try await NIOPipeBootstrap(group: executor.loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(arrival) }
      }
      .takingOwnershipOfDescriptor(input: input).get()
    let pair = Pair()
    let other = Task(executorPreference: executor) { while !pair.isOver { await pair.handOver() } }
    let pauses = await Task(executorPreference: executor) {
      defer { pair.end() }
      var byte: UInt8 = 7
      guard write(output, &byte, 1) == 1 else { return -1 }
      var pauses = 0
      // One turn may be lost to a thread that is fast; without turns it would never be read.
      let limit = ContinuousClock.now + .seconds(30)
      while !arrival.hasCome, ContinuousClock.now < limit {
        pauses += 1
        switch pause {
        case .turn: await executor.turn()
        case .handover: await pair.handOver()
        }
      }
      return pauses
    }.value
    await other.value
    try await channel.close()
    #expect(arrival.hasCome)
    #expect(pauses > 0)
  }

  /// A thread that is woken before all is gathered has to be woken again.
  @Test func whatWakesThreadsRunsBehindAllThatIsGathered() async throws {
    let executor = try #require(LoopExecutor.all.first)
    let seen = await withUnsafeContinuation { (waiting: UnsafeContinuation<[Int], Never>) in
      executor.loop.execute {
        nonisolated(unsafe) var seen: [Int] = []
        executor.schedule {
          executor.afterCompletions {
            seen.append(4)
            executor.afterJobs { seen.append(6) }
            executor.afterCompletions {
              seen.append(7)
              waiting.resume(returning: seen)
            }
          }
          executor.afterCompletions { seen.append(5) }
          executor.afterJobs {
            seen.append(2)
            executor.afterJobs { seen.append(3) }
          }
          seen.append(0)
          executor.schedule { seen.append(1) }
        }
      }
    }
    #expect(seen == Array(0...7))
  }
}
