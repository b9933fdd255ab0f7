import Dispatch
import Foundation
import Synchronization
import Testing

@testable import SystemServices

/// A network that the test changes, and a socket by which it plays the kernel.
@Suite struct NetworkMonitorTests {
  /// Counts calls, which may be waited for one by one.
  private final class Calls: Sendable {
    private let total = Mutex(0)
    private let semaphore = DispatchSemaphore(value: 0)

    var count: Int { total.withLock { $0 } }

    func note() {
      total.withLock { $0 += 1 }
      semaphore.signal()
    }

    /// Whether there was another one.
    func next() -> Bool { semaphore.wait(timeout: .now() + 30) == .success }
  }

  private final class Machine: Sendable {
    let address = Mutex<UInt8>(1)
    let looks = Calls()
    /// That of the monitor, and ours.
    let ends: [Int32]

    init() {
      var ends: [Int32] = [-1, -1]
      ends.withUnsafeMutableBufferPointer {
        _ = socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, $0.baseAddress)
      }
      self.ends = ends
    }

    deinit { for end in ends { close(end) } }

    var digest: NetworkDigest {
      let address = address.withLock { $0 }
      looks.note()
      var tables = NetworkDigest.Tables()
      tables.ipv4Addresses = [("eth0", [192, 0, 2, address])]
      return NetworkDigest(tables)
    }

    func report() { if let ours = ends.last { send(ours, [1], 1, 0) } }
  }

  private let machine = Machine()
  private let changes = Calls()

  private func monitor(isTold: Bool, pause: DispatchTimeInterval = .milliseconds(1)) -> NetworkMonitor {
    let descriptor = isTold ? machine.ends.first ?? -1 : -1
    return NetworkMonitor(
      open: { descriptor < 0 ? -1 : dup(descriptor) }, read: { [machine] in machine.digest }, pause: pause)
  }

  @Test func messagesThatChangeNothingAreNotToldOf() {
    let monitor = monitor(isTold: true)
    let token = monitor.add { [changes] in changes.note() }
    #expect(machine.looks.next())
    for _ in 0..<3 {
      machine.report()
      #expect(machine.looks.next())
    }
    machine.address.withLock { $0 = 2 }
    machine.report()
    #expect(changes.next())
    #expect(changes.count == 1 && monitor.generation == 1)
    monitor.remove(token)
  }

  @Test func aBurstIsLookedAtOnce() {
    let monitor = monitor(isTold: true, pause: .seconds(1))
    let token = monitor.add { [changes] in changes.note() }
    for _ in 0..<20 { machine.report() }
    machine.address.withLock { $0 = 2 }
    #expect(changes.next())
    #expect(machine.looks.count < 10 && changes.count == 1)
    monitor.remove(token)
  }

  /// A monitor that goes away with observers leaves no socket behind.
  @Test func itsSocketIsClosedWithIt() {
    var ends: [Int32] = [-1, -1]
    ends.withUnsafeMutableBufferPointer { _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, $0.baseAddress) }
    let (theirs, ours) = (ends[0], ends[1])
    var monitor: NetworkMonitor? = NetworkMonitor(open: { theirs }, read: { NetworkDigest(.init()) })
    _ = monitor?.add {}
    monitor = nil
    // Ends when the other end is closed; nothing was written to it.
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var byte: UInt8 = 0
    #expect(recv(ours, &byte, 1, 0) == 0)
    close(ours)
  }

  @Test func withoutReportsALookFindsTheChange() {
    let monitor = monitor(isTold: false)
    let token = monitor.add { [changes] in changes.note() }
    let start = BootInstant.now()
    // Nothing has changed; it has, and the last look was just now; the same a second later; not again.
    let steps: [(seconds: Double, address: UInt8, looks: Int, changes: Int)] = [
      (1.5, 1, 2, 0), (2, 2, 2, 0), (2.5, 2, 3, 1), (2.6, 2, 3, 1), (4, 2, 4, 1), (8, 3, 5, 2),
    ]
    for step in steps {
      machine.address.withLock { $0 = step.address }
      monitor.lookIfUnreported(at: start + step.seconds)
      #expect(machine.looks.count == step.looks && changes.count == step.changes, "\(step.seconds)")
    }
    monitor.remove(token)
    monitor.lookIfUnreported(at: start + 60)
    #expect(machine.looks.count == 5)
    // A new observer begins with the network of now.
    machine.address.withLock { $0 = 4 }
    let next = monitor.add { [changes] in changes.note() }
    monitor.lookIfUnreported(at: start + 120)
    #expect(changes.count == 2)
    monitor.remove(next)
  }

  /// The kernel says when to look.
  @Test func withReportsALookIsLeftOut() {
    let monitor = monitor(isTold: true)
    let token = monitor.add {}
    machine.address.withLock { $0 = 2 }
    monitor.lookIfUnreported(at: .now() + 60)
    #expect(machine.looks.count == 1 && monitor.generation == 0)
    monitor.remove(token)
  }
}
