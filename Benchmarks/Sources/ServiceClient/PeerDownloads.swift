import Foundation
import Harness

/// The same files, downloaded by aria2 or curl; `-synced`: and then each one of them put on the disk, as the service does.
struct PeerDownloads {
  private let assignment: Assignment
  private let program: String
  private let isSynced: Bool

  init(_ assignment: Assignment, program mode: String) {
    self.assignment = assignment
    isSynced = mode.hasSuffix("-synced")
    program = String(mode.prefix { $0 != "-" })
  }

  func run() throws {
    let files = FileSet(assignment)
    let folder = assignment.directory.path + "/downloads-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let list = folder + ".list"
    try text(for: files, in: folder).write(toFile: list, atomically: false, encoding: .utf8)
    let clock = ContinuousClock()
    let start = clock.now
    let peer = try RunningProgram(program == "aria2" ? "/usr/bin/aria2c" : "/usr/bin/curl", arguments(list, folder))
    var (peak, processor) = (0, 0.0)
    let figures = ProcessFigures(pid: peer.pid)
    while peer.isRunning {
      peak = max(peak, figures.peakBytes)
      processor = max(processor, figures.processorSeconds)
      usleep(10_000)
    }
    _ = peer.answer()
    if isSynced { try sync(files.names.map { "\(folder)/\($0)" } + [folder]) }
    let time = (clock.now - start).inSeconds
    try files.check(in: folder)
    try FileManager.default.removeItem(atPath: folder)
    try FileManager.default.removeItem(atPath: list)
    report(value: files.amount / time, peakRSS: peak, figures: ["processor": processor])
  }

  private func text(for files: FileSet, in folder: String) -> String {
    files.names.map { name in
      program == "aria2"
        ? "\(files.url(name).absoluteString)\n out=\(name)\n"
        : "url = \"\(files.url(name).absoluteString)\"\noutput = \"\(folder)/\(name)\"\n"
    }.joined()
  }

  private func arguments(_ list: String, _ folder: String) -> [String] {
    let most = "\(assignment.connections)"
    return program == "aria2"
      ? [
        "--no-conf", "--quiet", "--input-file", list, "--dir", folder, "--max-concurrent-downloads", most, "--split=1",
        "--max-connection-per-server=1", "--file-allocation=none", "--enable-http-keep-alive=true",
      ]
      : [
        "--silent", "--show-error", "--no-progress-meter", "--fail", "--http1.1", "--parallel", "--parallel-max", most,
        "--config", list,
      ]
  }

  private func sync(_ paths: [String]) throws {
    for path in paths {
      let descriptor = open(path, O_RDONLY)
      guard descriptor >= 0, fsync(descriptor) == 0 else { fail("\(path) can't be put on the disk: \(errno)") }
      close(descriptor)
    }
  }
}
