import Dispatch
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import SystemServices

/// A bus whose messages are single bytes of a pipe, which ends when it is closed for writing. As sd-bus it closes its descriptor
/// when it finds that out.
private final class FakeBus: WatchedBus {
  struct Place {
    var isThere = true
    /// Where the messages of each connection are written.
    var ends: [Int32] = []
    /// Where each connection reads them.
    var descriptors: [Int32] = []
    var subscriptions = 0
  }

  static let places = Mutex<[String: Place]>([:])
  let descriptor: Int32
  private let address: String
  private var isClosed = false

  init?(address: String?) {
    guard let address, FakeBus.places.withLock({ $0[address]?.isThere }) == true else { return nil }
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0, fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else { return nil }
    (descriptor, self.address) = (ends[0], address)
    let end = ends[1]
    FakeBus.places.withLock {
      $0[address]?.ends.append(end)
      $0[address]?.descriptors.append(ends[0])
    }
  }

  deinit { if !isClosed { close(descriptor) } }

  func subscribe() { FakeBus.places.withLock { $0[address]?.subscriptions += 1 } }

  func next() -> BusWatch<FakeBus>.Look {
    var byte: UInt8 = 0
    let count = read(descriptor, &byte, 1)
    if count == 0 {
      close(descriptor)
      isClosed = true
    }
    return count == 1 ? .something : count == 0 ? .gone : .nothing
  }
}

@Suite struct BusWatchTests {
  private let address = UUID().uuidString
  private let queue = DispatchQueue(label: "tests.bus")
  private let connections = Recorder<Bool>()
  private let looks = Recorder<BusWatch<FakeBus>.Look>()

  private let plans = Recorder<@Sendable () -> Void>()

  private func makeWatch() -> BusWatch<FakeBus> {
    BusWatch(
      on: queue, address: address,
      .init(
        connected: { [connections] in connections.record($0 != nil) },
        look: { [looks] in
          let look = $0.next()
          looks.record(look)
          return look
        }), later: { [plans] in plans.record($0) })
  }

  private func change(_ body: @Sendable (inout FakeBus.Place) -> Void) {
    FakeBus.places.withLock { body(&$0[address, default: FakeBus.Place()]) }
  }

  /// Ends all connections.
  private func endBus(isThere: Bool) {
    change {
      for end in $0.ends { close(end) }
      ($0.ends, $0.isThere) = ([], isThere)
    }
  }

  private var subscriptions: Int { FakeBus.places.withLock { $0[address]?.subscriptions ?? 0 } }

  @Test func aBusThatHasEndedIsConnectedToAgain() async throws {
    change { _ in }
    let watch = makeWatch()
    queue.sync { watch.start() }
    #expect(connections.all == [true])
    endBus(isThere: false)
    let first = try await plans.next()
    queue.sync(execute: first)
    #expect(connections.all == [true, false, false], "it is tried, without success")
    change { $0.isThere = true }
    let second = try await plans.next()
    queue.sync(execute: second)
    #expect(connections.all.last == true && subscriptions == 2 && plans.count == 2)
    let end = try #require(FakeBus.places.withLock { $0[address]?.ends.last })
    #expect(write(end, "x", 1) == 1)
    try await eventually("the message to be taken") { looks.all.contains(.something) }
    queue.sync { watch.stop() }
    endBus(isThere: false)
  }

  /// The bus may close its own while Dispatch looks at it.
  @Test func aDescriptorOfItsOwnIsLookedAt() async throws {
    change { _ in }
    let watch = makeWatch()
    queue.sync { watch.start() }
    let (end, descriptor) = try #require(
      FakeBus.places.withLock { places in
        places[address].flatMap { place in place.ends.last.flatMap { end in place.descriptors.last.map { (end, $0) } } }
      })
    #expect(write(end, "x", 1) == 1)
    try await eventually("the message to be taken") { looks.all.contains(.something) }
    var status = stat()
    try #require(fstat(descriptor, &status) == 0)
    let inode = status.st_ino
    let polled = try Self.polledDescriptors(of: inode)
    #expect(!polled.isEmpty && !polled.contains(descriptor), "\(polled), \(descriptor)")
    queue.sync { watch.stop() }
    try await eventually("it to be let go") { try Self.polledDescriptors(of: inode).isEmpty }
    endBus(isThere: false)
  }

  /// proc(5): `tfd:  8 events:  19 data:  80  pos:0 ino:3c21 sdev:e`, a line of each file at which an epoll(7) of this process looks.
  private static func polledDescriptors(of inode: ino_t) throws -> [Int32] {
    let inode = "ino:" + String(inode, radix: 16)
    let folder = "/proc/self/fdinfo"
    return try FileManager.default.contentsOfDirectory(atPath: folder).flatMap { name in
      let lines = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8))?.split(separator: "\n") ?? []
      return lines.compactMap { line -> Int32? in
        let fields = line.split { $0 == " " || $0 == "\t" }
        guard fields.count > 1, fields[0] == "tfd:", fields.contains(Substring(inode)) else { return nil }
        return Int32(fields[1])
      }
    }
  }

  /// Several starts plan one try.
  @Test func anEndedBusIsTriedOnceAtATime() async throws {
    change { _ in }
    let watch = makeWatch()
    queue.sync { watch.start() }
    endBus(isThere: false)
    let plan = try await plans.next()
    for _ in 0..<3 { queue.sync { watch.start() } }
    #expect(plans.count == 1)
    queue.sync { watch.stop() }
    queue.sync(execute: plan)
    #expect(plans.count == 1, "it is not wanted any more")
  }

  @Test func aMachineWithoutABusIsNotAskedAgain() {
    let watch = makeWatch()
    queue.sync { watch.start() }
    #expect(connections.all == [false] && plans.all.isEmpty)
    change { _ in }
    queue.sync { watch.start() }
    #expect(connections.all == [false, true])
    queue.sync { watch.stop() }
    endBus(isThere: false)
  }

  @Test func oneThatIsNotWantedIsNotConnectedTo() {
    change { _ in }
    let watch = makeWatch()
    queue.sync {
      watch.start()
      watch.stop()
    }
    endBus(isThere: true)
    queue.sync {}
    #expect(connections.all == [true] && plans.all.isEmpty)
    queue.sync { watch.start() }
    #expect(subscriptions == 2)
    queue.sync { watch.stop() }
    endBus(isThere: false)
  }
}
