import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

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
    "mirror": .init(bytesPerSecond: 1e6),
    "slow0": .init(bytesPerSecond: 200), "slow1": .init(bytesPerSecond: 200, hasRanges: false),
    "slow2": .init(bytesPerSecond: 200), "slow3": .init(bytesPerSecond: 200, hasRanges: false),
  ]

  /// The app with slow and endless servers, one with much, one with little, one whose servers are dead, and one that can
  /// wait.
  private static let (slowApp, bigApp, smallApp, deadApp, patientApp): (AppID, AppID, AppID, AppID, AppID) = (
    1, 2, 3, 4, 5
  )
  private static let hour: TimeInterval = 3_600

  /// Bytes a second of everything in the hours of work.
  private static let workRate: Int64 = 1_000_000

  private static func limits() -> [LimitSubject: LimitTable] {
    var (service, patient) = (LimitTable(), LimitTable())
    service.set(BandwidthLimit(bytesPerSecond: workRate, hours: DailyHours("08:00-18:00")))
    patient.set(BandwidthLimit(bytesPerSecond: 500_000))
    return [.service: service, .app(patientApp): patient]
  }

  /// On the way to work and back the laptop runs on its battery and over a telephone; in the afternoon it is unplugged until
  /// the battery is low. It computes in the morning, and its user is there from 7 to 23.
  private static func conditions(_ hour: Double) -> MachineConditions {
    var conditions = MachineConditions()
    let isOnTheWay = (7.5..<8.5).contains(hour) || (18..<19).contains(hour)
    conditions.isOnBattery = isOnTheWay || (14..<17).contains(hour)
    conditions.isBatteryLow = (16..<17).contains(hour)
    conditions.network = isOnTheWay ? [.cellular, .expensive] : []
    conditions.load = (9..<11).contains(hour) ? 1.5 : 0.1
    conditions.isUserIdle = !(7..<23).contains(hour)
    return conditions
  }

  private static func simulate() -> SimulatedLaptop {
    var laptop = SimulatedLaptop(servers, limits: limits(), conditions: conditions)
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
      // It comes behind them, and goes before them.
      laptop.create(app: bigApp, host: "films", size: 699_999_999, priority: 1)
      for _ in 1...3 { laptop.create(app: bigApp, host: "unranged", size: 30_000_000, priority: 0) }
      for host in ["night", "cuts", "busy", "other"] {
        for _ in 1...4 { laptop.create(app: bigApp, host: host, size: 5_000_000) }
      }
      laptop.advance(to: morning - 6 * hour)
      laptop.sleep(until: morning)
      // Until the evening, and until the end of the week.
      for limit in [15 * hour, 7 * SimulatedLaptop.day - morning] {
        for size in [300_000_000, 500_000] as [Int64] {
          laptop.create(app: patientApp, host: "mirror", size: size, limit: limit, isDiscretionary: true)
        }
      }
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
    expectFirst(transfers)
    expectPatience(transfers)
    #expect(laptop.limited.seconds > 7 * 9 * Self.hour)
    #expect(laptop.limited.bytes < Double(Self.workRate) * laptop.limited.seconds * 1.01)
    // A week has 40,320 quarter minutes.
    #expect(laptop.decisions < 60_000, "\(laptop.decisions)")
  }

  /// A transfer of a high priority ends before those of its app that came before it.
  private func expectFirst(_ transfers: [SimulatedTransfer]) {
    let films = transfers.filter { $0.host == "films" }
    let urgent = films.filter { $0.priority == 1 }
    #expect(urgent.count == 7)
    for film in urgent {
      let first = film.starts.first ?? film.created + .infinity
      // A slice, and the last of those that ran.
      #expect(first - film.created < 130, "it waits for \(first - film.created) s")
      let others = films.filter { $0.created == film.created && $0.priority < 1 }
      let end = film.ended?.at ?? film.created + .infinity
      #expect(others.count { ($0.ended?.at ?? end) < end } <= 12, "others have ended before it")
    }
  }

  /// Transfers that can wait end in their time, and the large ones of a week wait for a user who is away.
  private func expectPatience(_ transfers: [SimulatedTransfer]) {
    let patient = transfers.filter { $0.app == Self.patientApp }
    #expect(patient.count == 28)
    for transfer in patient {
      let end = transfer.ended?.at ?? transfer.created + .infinity
      #expect(end - transfer.created < transfer.limit, "\(transfer.size) bytes, made at \(transfer.created)")
      guard transfer.size > DiscretionaryRule.large, let first = transfer.starts.first else { continue }
      let hour =
        (first - BootInstant(nanoseconds: 1_000_000_000)).truncatingRemainder(dividingBy: SimulatedLaptop.day)
        / Self.hour
      #expect(!(7..<23).contains(hour) || first - transfer.created >= transfer.limit / 8, "it begins at \(hour)")
    }
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
