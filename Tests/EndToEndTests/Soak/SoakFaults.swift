import Foundation
import LoopbackServer

/// What goes wrong around the service while a soak lasts, one thing after the other. The queue stays: without it
/// a task that is over may run again.
struct SoakFaults {
  enum Fault: String, CaseIterable {
    case serviceKilled, everythingOfTheServiceKilled, serviceStopped
    case networkAway, folderAway, folderLocked, runtimeFolderEmptied
  }

  let home: Home
  let server: SoakServer
  var random: SeededGenerator
  private(set) var counts: [Fault: Int] = [:]

  init(home: Home, server: SoakServer, seed: UInt64) {
    self.home = home
    self.server = server
    random = SeededGenerator(seed: seed ^ 0x50a4)
  }

  /// Ends as it is told by cancellation, and leaves nothing broken.
  mutating func run(until deadline: ContinuousClock.Instant, pace: ClosedRange<Double>) async {
    while ContinuousClock.now < deadline {
      try? await Task.sleep(for: .seconds(.random(in: pace, using: &random)))
      let fault = Fault.allCases.randomElement(using: &random) ?? .serviceKilled
      counts[fault, default: 0] += 1
      await perform(fault, for: .seconds(.random(in: pace, using: &random)))
    }
  }

  private func perform(_ fault: Fault, for time: Duration) async {
    switch fault {
    case .serviceKilled: signal(.service, SIGKILL)
    case .everythingOfTheServiceKilled:
      signal(.supervisor, SIGKILL)
      signal(.service, SIGKILL)
    case .serviceStopped:
      signal(.service, SIGSTOP)
      try? await Task.sleep(for: time)
      signal(.service, SIGCONT)
    case .networkAway:
      server.setAway(true)
      try? await Task.sleep(for: time)
      server.setAway(false)
    case .folderAway: await away("\(home.stateFolder)/partial", for: time)
    case .folderLocked:
      // For root this changes nothing.
      chmod("\(home.stateFolder)/complete", 0)
      try? await Task.sleep(for: time)
      chmod("\(home.stateFolder)/complete", 0o700)
    case .runtimeFolderEmptied: empty("\(home.path)/run")
    }
  }

  private func signal(_ role: HomeProcess.Role, _ number: Int32) {
    for process in home.processes() where process.role == role { kill(process.pid, number) }
  }

  /// The folder is not there for a while; what was put in its place meanwhile is dropped.
  private func away(_ folder: String, for time: Duration) async {
    let other = folder + ".away"
    guard rename(folder, other) == 0 else { return }
    try? await Task.sleep(for: time)
    // The service may have made an empty one.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      rename("\(folder)/\(name)", "\(other)/\(name)")
    }
    rmdir(folder)
    rename(other, folder)
  }

  private func empty(_ folder: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
  }
}
