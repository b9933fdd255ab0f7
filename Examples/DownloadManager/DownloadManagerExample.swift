import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a download manager: several downloads at a time, of which each may be paused and resumed.
///
///     EXAMPLES=1 swift run download-manager http://localhost:8080
@main
struct DownloadManagerExample {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: download-manager SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  @MainActor private static func run(on server: URL) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("downloads-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let manager = DownloadManager(folder: folder)

    // 4 MiB that take two seconds, 1 MiB at once, and a file that does not exist.
    let files = ["large": "file?size=4194304&rate=2097152", "small": "file?size=1048576", "missing": "missing"]
    for (name, file) in files {
      guard let url = URL(string: file, relativeTo: server.appendingPathComponent("/")) else { throw URLError(.badURL) }
      manager.start(name, from: url)
    }

    var results: [String: String] = [:]
    var history: [String] = []
    for await (name, state) in manager.changes {
      switch state {
      case .running(let fraction):
        guard name == "large", fraction > 0.25, history.isEmpty else { break }
        history.append("running")
        await manager.pause(name)
      case .paused(let fraction):
        history.append("paused after \(fraction < 1 ? "a part" : "the end")")
        manager.resume(name)
      case .resumed(let offset): history.append("resumed \(offset > 0 ? "where it was" : "from the beginning")")
      case .finished(let file):
        let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        results[name] = "finished, \(size) bytes"
      case .failed(let reason): results[name] = "failed, \(reason)"
      }
      if results.count == files.count { break }
    }
    print("large: \(history.joined(separator: ", "))")
    for (name, result) in results.sorted(by: { $0.key < $1.key }) { print("\(name): \(result)") }
    try FileManager.default.removeItem(at: folder)
    exit(history.count == 3 ? 0 : 1)
  }
}
