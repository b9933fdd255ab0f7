import Foundation
import LoopbackServer

/// What goes wrong around the service while a soak lasts, one thing after the other: each kind once, in any order, and then
/// whichever comes.
///
/// Without the file of the queue the service knows its tasks from a copy of it, which may be a minute old, from the records
/// of new tasks, and from the journals of those that have begun.
struct SoakFaults {
  enum Fault: String, CaseIterable {
    case serviceKilled, everythingOfTheServiceKilled, serviceStopped
    case networkAway, folderAway, runtimeFolderEmptied
    case queueRemoved, queueDamaged
    /// On a disk of its own only.
    case diskFull, diskReadOnly

    var isOfDisk: Bool { self == .diskFull || self == .diskReadOnly }
  }

  /// When the file of the queue was lost. What the service has known since its last copy, such as that the app has
  /// acknowledged an end, may be forgotten; times of the clock on the wall.
  typealias Loss = ClosedRange<Double>

  private let home: Home
  private let server: SoakServer
  private let disk: SmallDisk?
  private var random: SeededGenerator
  private var requestsAtKill = 0
  private(set) var counts: [Fault: Int] = [:]
  private(set) var losses: [Loss] = []

  init(home: Home, server: SoakServer, disk: SmallDisk?, seed: UInt64) {
    self.home = home
    self.server = server
    self.disk = disk
    random = SeededGenerator(seed: seed ^ 0x50a4)
  }

  /// The folder of the service, as the tests reach it.
  private var state: String { disk.map { $0.path + "/urlsessiond" } ?? home.stateFolder }

  /// Ends when the time is over and each kind has happened, and leaves nothing broken.
  mutating func run(until deadline: ContinuousClock.Instant, pace: ClosedRange<Double>) async throws {
    let kinds = Fault.allCases.filter { disk != nil || !$0.isOfDisk }
    var due = kinds.shuffled(using: &random)
    while ContinuousClock.now < deadline || !due.isEmpty {
      try await Task.sleep(for: .seconds(.random(in: pace, using: &random)))
      guard let fault = due.popLast() ?? kinds.randomElement(using: &random) else { return }
      try await perform(fault, for: .seconds(.random(in: pace, using: &random)))
      counts[fault, default: 0] += 1
    }
  }

  private mutating func perform(_ fault: Fault, for time: Duration) async throws {
    // The apps start it where it has ended.
    let service = try await home.service()
    switch fault {
    case .serviceKilled:
      try await awaitProgress()
      kill(service, SIGKILL)
    case .everythingOfTheServiceKilled: try await killService()
    case .serviceStopped:
      kill(service, SIGSTOP)
      try await Task.sleep(for: time)
      kill(service, SIGCONT)
    case .networkAway:
      server.setAway(true)
      try await Task.sleep(for: time)
      server.setAway(false)
    case .folderAway: try await away("\(state)/partial", for: time)
    case .runtimeFolderEmptied: empty("\(home.path)/run")
    case .queueRemoved: try await lose { $0.remove($1) }
    case .queueDamaged: try await lose { $0.damage($1) }
    case .diskFull:
      disk?.fill()
      try await Task.sleep(for: time)
      disk?.makeRoom()
    case .diskReadOnly: try await readOnly(for: time)
    }
  }

  /// A transfer that runs at several ends of the service, without progress between them, is set aside. After each end those
  /// that ran are tried one after the other, so a second request tells that the first of them was served.
  private mutating func awaitProgress() async throws {
    let enough = requestsAtKill + 2
    // There may be nothing to ask for any more.
    try? await eventually("requests", within: .seconds(1)) { server.requests >= enough }
    requestsAtKill = server.requests
  }

  /// Supervisor and worker; only an app can start them now.
  private mutating func killService() async throws {
    try await awaitProgress()
    endService()
  }

  private func endService() {
    // One that is just being started, too.
    for process in home.processes() where process.program == "urlsessiond" { kill(process.pid, SIGKILL) }
  }

  /// Does something to the files of the queue while no service runs.
  private mutating func lose(_ change: (inout SoakFaults, String) -> Void) async throws {
    try await killService()
    let began = Date().timeIntervalSince1970
    change(&self, "\(state)/queue.sqlite")
    // An app may have started one that has the old files open.
    endService()
    losses.append(began...Date().timeIntervalSince1970)
  }

  private func remove(_ queue: String) { for end in ["", "-wal", "-shm"] { unlink(queue + end) } }

  /// Other bytes in some of the pages.
  private mutating func damage(_ queue: String) {
    guard let file = FileHandle(forUpdatingAtPath: queue) else { return }
    defer { try? file.close() }
    let pages = ((try? file.seekToEnd()) ?? 0) / 4096
    guard pages > 0 else { return }
    for _ in 1...3 {
      let bytes = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
      try? file.seek(toOffset: .random(in: 0..<pages, using: &random) * 4096)
      try? file.write(contentsOf: bytes)
    }
  }

  /// As a kernel does it that has seen an error of the disk. No file may be open for writing at that moment.
  private mutating func readOnly(for time: Duration) async throws {
    guard let disk else { return }
    try await killService()
    try await eventually("a disk that is only read") {
      if try disk.setReadOnly(true) { return true }
      endService()
      return false
    }
    try await Task.sleep(for: time)
    try await eventually("a disk that is written again") { try disk.setReadOnly(false) }
  }

  /// The folder is not there for a while; what was put in its place meanwhile is dropped.
  private func away(_ folder: String, for time: Duration) async throws {
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
