import Synchronization
import SystemServices

/// The open files that came over one connection: those of requests that were not carried out yet, and how many there are with
/// those that are in use. May be used from any thread.
final class ConnectionFiles: Sendable {
  private struct State {
    var kept: [UInt64: PassedFiles] = [:]
    var count = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  private let quota: ConnectionQuota
  private let program: String

  init(_ quota: ConnectionQuota, program: String) {
    self.quota = quota
    self.program = program
  }

  /// Why a request may bring no files.
  enum Fault: Error, Equatable, CustomStringConvertible {
    case count(Int)
    case tooMany(limit: Int)
    case bytes

    var description: String {
      switch self {
      case .count(let count): "announced \(count) open files"
      case .tooMany(let limit): "sent more than \(limit) open files that are not used yet"
      case .bytes: "sent bytes where open files were to come"
      }
    }
  }

  /// Places for `count` more.
  ///
  /// - Throws: `Fault`, or `ConnectionQuota.Exceeded` when others have the places now.
  func reserve(_ count: Int) throws -> PassedFiles.Share {
    let limit = FilePassing.mostFiles
    guard count > 0, count <= limit else { throw Fault.count(count) }
    try state.withLock { state in
      guard state.count + count <= limit else { throw Fault.tooMany(limit: limit) }
      try quota.beginFiles(count, of: program)
      state.count += count
    }
    return PassedFiles.Share(count) { [self] count in
      state.withLock { $0.count -= count }
      quota.endFiles(count, of: program)
    }
  }

  func keep(_ files: PassedFiles, of request: UInt64) {
    // Those of an earlier request of the same number are closed, but not under the lock that their end takes.
    let earlier = state.withLock { state -> PassedFiles? in
      guard !state.isClosed else { return files }
      return state.kept.updateValue(files, forKey: request)
    }
    withExtendedLifetime(earlier) {}
  }

  func take(_ request: UInt64) -> PassedFiles? { state.withLock { $0.kept.removeValue(forKey: request) } }

  /// The connection is closed.
  func close() {
    let kept = state.withLock { state in
      defer { (state.kept, state.isClosed) = ([:], true) }
      return state.kept
    }
    withExtendedLifetime(kept) {}
  }
}
