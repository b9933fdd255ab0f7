import Foundation
import LoopbackServer
import Testing
import TransferScript

/// What all processes of one test app wrote down, in order.
struct AppLog: Sendable {
  let path: String

  var entries: [AppEntry] {
    (FileManager.default.contents(atPath: path) ?? Data()).split(separator: UInt8(ascii: "\n"))
      .compactMap { try? JSONDecoder().decode(AppEntry.self, from: $0) }
  }

  func count(_ kind: AppEntry.Kind, label: String? = nil) -> Int {
    entries.count { $0.kind == kind && (label == nil || $0.label == label) }
  }

  /// Processes that the service started.
  var launches: Int { entries.count { $0.kind == .started && $0.session != nil } }

  /// The identifier of the task with that label; nil where the app was told nothing of it.
  func task(_ label: String) -> Int? { entries.last { $0.label == label && $0.task != nil }?.task }

  /// Waits for an entry.
  func first(
    _ what: String, within limit: Duration = patience, _ condition: (AppEntry) -> Bool
  ) async throws -> AppEntry {
    var found: AppEntry?
    try await eventually("\(what) in the app's log", within: limit) {
      found = entries.first(where: condition)
      return found != nil
    }
    return try #require(found)
  }

  /// Waits for a call of the delegate.
  @discardableResult
  func waitFor(_ kind: AppEntry.Kind, label: String? = nil, count: Int = 1) async throws -> AppEntry {
    var found: [AppEntry] = []
    try await eventually("\(count) × \(kind) of \(label ?? "any task")", within: patience) {
      found = entries.filter { $0.kind == kind && (label == nil || $0.label == label) }
      return found.count >= count
    }
    return try #require(found.last)
  }
}

// MARK: What must always hold

extension Home {
  /// The download arrived whole, its calls came in order, nothing of it was lost; `times` is how often it was told.
  func expectArrived(
    _ label: String, _ version: FileResource.Version, status: Int = 200, times: Int = 1,
    program: String = "transfer-app", sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let calls = log(program).entries.filter { $0.label == label }
    let kinds = calls.filter { $0.kind != .didWriteData && $0.kind != .didResumeAtOffset }.map(\.kind)
    #expect(kinds.count { $0 == .didComplete } == times, "\(kinds)", sourceLocation: sourceLocation)
    // In the process that had the last word: the file, then the end, and nothing after.
    #expect(
      kinds.suffix(3) == [.didFinishDownloading, .moved, .didComplete], "\(kinds)", sourceLocation: sourceLocation)
    #expect(calls.last?.kind == .didComplete && calls.last?.error == nil, sourceLocation: sourceLocation)
    #expect(calls.last?.status == status && calls.last?.bytes == version.size, sourceLocation: sourceLocation)
    #expect(
      calls.allSatisfy { ($0.bytes ?? 0) <= version.size && $0.bytes ?? 0 >= 0 }, "counters beyond the file",
      sourceLocation: sourceLocation)
    let difference = version.pattern.difference(toFile: app(program).file(label), count: version.size)
    #expect(difference == nil, "\(difference ?? "")", sourceLocation: sourceLocation)
  }

  /// Every event was acknowledged: nothing waits in the service, and no file of a transfer is left there.
  func expectNothingKept(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await eventually("the service to have no files (it has \(transferFiles()))") { transferFiles().isEmpty }
  }
}

extension FileResource {
  /// Each try went on at most 8 MiB before where the one before had ended, and never beyond it.
  func expectLittleLost(sourceLocation: SourceLocation = #_sourceLocation) {
    // What the kernel had taken from the server and not yet given to the client.
    let onTheWay: Int64 = 1 << 20
    // 416 says that there is nothing after the end.
    let answers = served.filter { $0.status != 416 }
    for (before, after) in zip(answers, answers.dropFirst()) {
      let end = before.offset + before.sent
      #expect(after.offset <= end, "\(answers)", sourceLocation: sourceLocation)
      #expect(end - after.offset <= 8 << 20 + onTheWay, "\(answers)", sourceLocation: sourceLocation)
      if after.offset > 0 {
        #expect(after.status == 206 && after.ifRange == version.etag, "\(answers)", sourceLocation: sourceLocation)
      }
    }
  }
}
