import Foundation
import LoopbackServer
import SystemServices
import Testing

@testable import TransferService

/// A week of a laptop with good and bad servers and apps, in virtual time.
@Suite struct SimulatedWeekTests {
  private static let servers: [String: SimulatedServer] = [
    "fast": .init(bytesPerSecond: 4e6),
    "other": .init(bytesPerSecond: 1e6),
    "films": .init(bytesPerSecond: 3e5),
    "unranged": .init(bytesPerSecond: 1e5, hasRanges: false),
    "night": .init(bytesPerSecond: 2e5, sleepsAtNight: true),
    "cuts": .init(kind: .cuts(every: 300_000), bytesPerSecond: 1e5),
    "busy": .init(kind: .busy(times: 5), bytesPerSecond: 1e6),
    "dead": .init(kind: .dead, bytesPerSecond: 0),
    "slow0": .init(bytesPerSecond: 200), "slow1": .init(bytesPerSecond: 200, hasRanges: false),
    "slow2": .init(bytesPerSecond: 200), "slow3": .init(bytesPerSecond: 200, hasRanges: false),
  ]

  /// The app with slow and endless servers, one with much, one with little, and one whose servers are dead.
  private static let (slowApp, bigApp, smallApp, deadApp): (AppID, AppID, AppID, AppID) = (1, 2, 3, 4)
  private static let hour: TimeInterval = 3_600

  private static func simulate() -> SimulatedLaptop {
    var laptop = SimulatedLaptop(servers)
    var generator = SeededGenerator(seed: 1)
    for host in 0...3 {
      for _ in 1...6 { laptop.create(app: slowApp, host: "slow\(host)", size: 150_000) }
      // More than the week is long.
      for _ in 1...2 { laptop.create(app: slowApp, host: "slow\(host)", size: 1 << 30) }
    }
    for host in ["dead", "dead", "dead", "dead", "dead", "dead", "dead", "dead"] {
      laptop.create(app: deadApp, host: host, size: 1_000, limit: 2 * SimulatedLaptop.day)
    }
    for day in 0..<7 {
      let morning = Double(day) * SimulatedLaptop.day + 7 * hour
      for _ in 1...20 { laptop.create(app: bigApp, host: "films", size: 700_000_000) }
      for _ in 1...3 { laptop.create(app: bigApp, host: "unranged", size: 30_000_000, priority: 0) }
      for host in ["night", "cuts", "busy", "other"] {
        for _ in 1...4 { laptop.create(app: bigApp, host: host, size: 5_000_000) }
      }
      laptop.advance(to: morning - 6 * hour)
      laptop.sleep(until: morning)
      while laptop.seconds < morning + 15 * hour {
        laptop.advance(to: laptop.seconds + .random(in: 60...1_200, using: &generator))
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          laptop.create(app: smallApp, host: ["fast", "other"].randomElement(using: &generator) ?? "", size: 2_000_000)
        }
        if generator.chance(in: 15) {
          laptop.setOnline(false)
          laptop.advance(to: laptop.seconds + .random(in: 10...600, using: &generator))
          laptop.setOnline(true)
        }
      }
      laptop.advance(to: Double(day + 1) * SimulatedLaptop.day)
    }
    return laptop
  }

  @Test func noAppStarvesAndNoServerIsAskedTooOften() {
    let laptop = Self.simulate()
    let transfers = laptop.transfers.values.sorted { $0.id < $1.id }
    for transfer in transfers {
      let isEndless = transfer.size == 1 << 30
      switch transfer.host {
      case "dead":
        #expect(transfer.ended?.hasFile == false)
        let lived = (transfer.ended?.at ?? transfer.created) - transfer.created
        #expect(abs(lived - 2 * SimulatedLaptop.day) < Self.hour, "its time is over")
      case _ where isEndless: #expect(transfer.ended?.hasFile != true)
      default: #expect(transfer.ended?.hasFile == true, "\(transfer.host), made at \(transfer.created)")
      }
      #expect(mostStartsInAnHour(transfer, laptop) <= 60, "\(transfer.host)")
      #expect(!transfer.starts.isEmpty)
    }
    // A small app waits for a slice at most, and longer only where the machine was without a network.
    let waits = transfers.filter { $0.app == Self.smallApp }.map { transfer in
      let first = transfer.starts.first ?? transfer.created + .infinity
      return first - transfer.created
    }
    #expect(waits.count > 400 && waits.allSatisfy { $0 < 70 }, "\(waits.max() ?? 0)")
    // A week has 40,320 quarter minutes.
    #expect(laptop.decisions < 60_000, "\(laptop.decisions)")
  }

  /// Without those that a network which came up has caused.
  private func mostStartsInAnHour(_ transfer: SimulatedTransfer, _ laptop: SimulatedLaptop) -> Int {
    var (most, first) = (0, 0)
    for (index, start) in transfer.starts.enumerated() {
      while start - transfer.starts[first] > Self.hour { first += 1 }
      let changes = laptop.networkChanges.count { start - $0 >= 0 && start - $0 <= Self.hour }
      most = max(most, index - first + 1 - changes)
    }
    return most
  }
}
