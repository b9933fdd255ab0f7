import Foundation
import TransferScript

/// The app's plan, and its log: a line an entry, on the disk before the app goes on.
final class AppScript: Sendable {
  let plan: AppPlan
  let folder: AppFolder
  private let descriptor: Int32

  struct NoFolder: Error {}

  init() throws {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    guard let path = ProcessInfo.processInfo.environment[AppFolder.variable] else { throw NoFolder() }
    folder = AppFolder(folder: path, program: (program as NSString).lastPathComponent)
    let encoded = FileManager.default.contents(atPath: folder.plan)
    plan = try encoded.map { try JSONDecoder().decode(AppPlan.self, from: $0) } ?? AppPlan()
    descriptor = open(folder.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw NoFolder() }
  }

  func log(_ entry: AppEntry) {
    guard var line = try? JSONEncoder().encode(entry) else { return }
    line.append(UInt8(ascii: "\n"))
    // One write, so that lines of several threads and processes do not mix.
    _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    fsync(descriptor)
  }

  /// Does what the plan says for this moment, and returns it; nil when it says nothing, or not any more.
  @discardableResult
  func reached(_ moment: AppFault.Moment) -> AppFault.Act? {
    for (index, fault) in plan.faults.enumerated() where fault.moment == moment && happens(index, fault) {
      switch fault.act {
      case .crash: kill(getpid(), SIGKILL)
      // Another process makes the file, and nothing but looking tells when.
      case .hold: while access(folder.go, F_OK) != 0 { usleep(5_000) }
      case .sayDoneAndExit: break
      }
      return fault.act
    }
    return nil
  }

  private func happens(_ index: Int, _ fault: AppFault) -> Bool {
    for count in 0..<fault.times {
      let marker = open(folder.marker(index, count), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
      guard marker >= 0 else { continue }
      close(marker)
      return true
    }
    return false
  }
}
