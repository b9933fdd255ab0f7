import Foundation
import LoopbackServer
import Synchronization

/// A server whose files are told by their paths, `/SEED/SIZE`, and that fails now and then: it cuts its answers, is busy,
/// slow, knows no ranges, or can't be reached at all. Bodies that are sent to such a path must have the same bytes.
final class SoakServer: Sendable {
  private struct State {
    var random: SeededGenerator
    var files: [String: FileResource] = [:]
    var uploads: Set<String> = []
    var wrongUploads: [String] = []
    var isAway = false
    var isPerfect = false
    var requests = 0
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

  var requests: Int { state.withLock { $0.requests } }
  /// Paths to which the right bytes were sent.
  var uploads: Set<String> { state.withLock { $0.uploads } }
  /// Bodies that were whole and had other bytes than they should.
  var wrongUploads: [String] { state.withLock { $0.wrongUploads } }

  /// While it is away, connections are reset.
  func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

  /// From now on nothing goes wrong here.
  func setPerfect() { state.withLock { $0.isPerfect = true } }

  /// The path of a file that no other task has.
  static func path(_ number: Int, size: Int64) -> String { "/\(number)/\(size)" }

  static func version(_ path: String) -> FileResource.Version? {
    let parts = path.split(separator: "/")
    guard parts.count == 2, let seed = UInt64(parts[0]), let size = Int64(parts[1]) else { return nil }
    return FileResource.Version(size: size, seed: seed)
  }

  func reply(to request: RecordedRequest) -> Reply {
    guard let version = SoakServer.version(request.path) else { return .status(404) }
    let isUpload = request.method != "GET"
    let (file, fault) = state.withLock { state -> (FileResource, Fault) in
      state.requests += 1
      let file = state.files[request.path] ?? FileResource(version)
      state.files[request.path] = file
      return (file, state.isAway ? .away : state.isPerfect ? .nothing : Fault(request, &state.random))
    }
    switch fault {
    case .away: return Reply([.reset])
    case .cut where isUpload: return Reply([.closeAbruptly])
    case _ where isUpload: return take(request, version)
    case .nothing: return file.reply(to: request)
    case .busy: return .status(503, fields: [("Retry-After", "1")])
    case .slow(let rate):
      // A body that is sent when everything has to arrive takes half a minute at most.
      return file.reply(to: request).limited(toBytesPerSecond: max(rate, Int(version.size / 30)))
    case .cut(let part):
      let reply = file.reply(to: request)
      return SoakServer.cut(reply, after: part)
    }
  }

  private func take(_ request: RecordedRequest, _ version: FileResource.Version) -> Reply {
    // The client has left on the way.
    guard request.isComplete else { return Reply([.closeAbruptly]) }
    let isRight =
      request.body.count == version.size && request.body.digest == version.pattern.digest(count: version.size)
    state.withLock { state in
      if isRight {
        state.uploads.insert(request.path)
      } else {
        state.wrongUploads.append("\(request.path): \(request.body.count) bytes")
      }
    }
    return .status(isRight ? 201 : 400)
  }

  private enum Fault {
    case nothing, away, busy
    case slow(Int)
    /// After that part of the file.
    case cut(Double)

    init(_ request: RecordedRequest, _ random: inout SeededGenerator) {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<8: self = .cut(.random(in: 0..<1, using: &random))
      case 8..<10: self = .slow(.random(in: 20_000...200_000, using: &random))
      // The answer to a request of the app's own is the app's; one to a resumption is not.
      case 10..<15: self = request.value("Range") == nil ? .nothing : .busy
      default: self = .nothing
      }
    }
  }

  private static func cut(_ reply: Reply, after part: Double) -> Reply {
    var reply = reply
    for (index, step) in reply.steps.enumerated() {
      guard case .pattern(let pattern, let start, let count) = step else { continue }
      let sent = Int64(Double(count) * part)
      reply.steps.replaceSubrange(index..., with: [.pattern(pattern, from: start, count: sent), .closeAbruptly])
      return reply
    }
    return reply
  }
}
