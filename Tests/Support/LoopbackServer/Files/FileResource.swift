import Synchronization

/// A file that exists only as a pattern, served with ranges, validators and the faults a test asks for.
///
/// ```swift
/// let file = FileResource(size: 200 << 20)
/// file.update { $0.bytesPerSecond = 20 << 20; $0.cuts = [.after(50 << 20), .after(50 << 20)] }
/// let server = try await LoopbackServer.start { file.reply(to: $0) }
/// ```
/// Answers GET and HEAD with 200, GET with a Range with 206 or 416, honours If-Range. The behaviour may be changed at
/// any time and takes effect with the next request.
package final class FileResource: Sendable {
  /// The content and the validators that go with it.
  package struct Version: Sendable {
    package var pattern: BytePattern
    package var size: Int64
    /// With its quotes; `W/` before them makes it weak. nil sends none.
    package var etag: String?
    /// An HTTP date; nil sends none.
    package var lastModified: String?

    package init(
      size: Int64, seed: UInt64 = 1, etag: String? = nil, lastModified: String? = "Mon, 05 Jan 2026 10:00:00 GMT"
    ) {
      pattern = BytePattern(seed: seed)
      self.size = size
      self.etag = etag ?? "\"seed-\(seed)-size-\(size)\""
      self.lastModified = lastModified
    }
  }

  /// Where and how one answer breaks off.
  package struct Cut: Sendable {
    package var bytes: Int64
    package var ending: ReplyEnding

    /// After so many bytes of that answer's body. An answer that is not longer is not cut.
    package static func after(_ bytes: Int64, _ ending: ReplyEnding = .closeAbruptly) -> Cut {
      Cut(bytes: bytes, ending: ending)
    }
  }

  /// What a 206 says in Content-Range.
  package enum ContentRange: Sendable {
    case correct
    /// Claims to begin so many bytes later (earlier when negative) than the body does.
    case shifted(by: Int64)
    case wrongTotal(Int64)
    case text(String)
    case missing
  }

  package struct Behaviour: Sendable {
    package var contentType = "application/octet-stream"
    /// false: Range is ignored, and Accept-Ranges says `none`.
    package var supportsRanges = true
    package var contentRange = ContentRange.correct
    /// Rate of each answer's body; nil is as fast as it goes.
    package var bytesPerSecond: Int?
    /// The first GET is cut by the first of these, the second by the second, and so on; later ones are not cut.
    package var cuts: [Cut] = []
    /// Each answer waits for the gate after so many bytes of its body.
    package var pause: (bytes: Int64, gate: Gate)?
    /// The version to change to, and the number of the GET (1 for the first) before which that happens.
    package var replacement: (version: Version, beforeRequest: Int)?
    /// Sends the body chunked, without Content-Length: a size the client cannot know. Ranges still work.
    package var hidesLength = false
  }

  /// One answer that was given.
  package struct Served: Sendable {
    package var method: String
    package var status: Int
    /// The request's Range field; nil without one.
    package var rangeField: String?
    package var ifRange: String?
    /// Offset of the answer's first byte in the file.
    package var offset: Int64
    /// How many bytes of body the answer set out to send, faults aside.
    package var length: Int64
    /// How many went out. Grows while the answer is sent, and is never behind what the client has received.
    package var sent: Int64
  }

  private struct State: Sendable {
    var version: Version
    var behaviour = Behaviour()
    var served: [Served] = []
    var gets = 0
  }

  private let state: Mutex<State>

  package init(_ version: Version) {
    state = Mutex(State(version: version))
  }

  package convenience init(size: Int64, seed: UInt64 = 1) {
    self.init(Version(size: size, seed: seed))
  }

  /// The version served now.
  package var version: Version { state.withLock { $0.version } }

  package func replace(with version: Version) {
    state.withLock { $0.version = version }
  }

  package func update(_ change: @Sendable (inout Behaviour) -> Void) {
    state.withLock { change(&$0.behaviour) }
  }

  /// Every answer given so far, oldest first.
  package var served: [Served] { state.withLock { $0.served } }

  /// Bytes of body that went out in all, never fewer than clients have received: more than the size when some travelled
  /// twice.
  package var bytesSent: Int64 { served.reduce(0) { $0 + $1.sent } }

  // MARK: Answering

  package func reply(to request: RecordedRequest) -> Reply {
    let isGET = request.method == "GET"
    guard isGET || request.method == "HEAD" else {
      return .status(405, fields: [("Allow", "GET, HEAD")])
    }
    let (version, behaviour, cut) = state.withLock { state -> (Version, Behaviour, Cut?) in
      if isGET { state.gets += 1 }
      if let (version, number) = state.behaviour.replacement, state.gets >= number {
        state.version = version
        state.behaviour.replacement = nil
      }
      let index = state.gets - 1
      let cut = isGET && index < state.behaviour.cuts.count ? state.behaviour.cuts[index] : nil
      return (state.version, state.behaviour, cut)
    }

    var fields: HeaderList = [("Content-Type", behaviour.contentType)]
    fields.append(("Accept-Ranges", behaviour.supportsRanges ? "bytes" : "none"))
    if let etag = version.etag { fields.append(("ETag", etag)) }
    if let date = version.lastModified { fields.append(("Last-Modified", date)) }

    // RFC 9110 §14.2: Range means something in GET alone; §13.1.5: and only if If-Range, when there, matches.
    let wanted: RangeRequest =
      isGET && behaviour.supportsRanges && Self.ifRangeHolds(request, version)
      ? RangeRequest(request.value("Range"), size: version.size) : .whole
    let status: Int
    let part: Range<Int64>
    switch wanted {
    case .whole: (status, part) = (200, 0..<version.size)
    case .part(let range):
      (status, part) = (206, range)
      if let value = Self.contentRange(of: range, version.size, behaviour) { fields.append(("Content-Range", value)) }
    case .unsatisfiable:
      (status, part) = (416, 0..<0)
      fields.append(("Content-Range", "bytes */\(version.size)"))
    }

    let count = Int64(part.count)
    let number = note(
      Served(
        method: request.method, status: status, rangeField: request.value("Range"), ifRange: request.value("If-Range"),
        offset: part.lowerBound, length: isGET ? count : 0, sent: 0))
    var reply = Reply(
      steps(status, fields: fields, pattern: version.pattern, part: part, cut: cut, behaviour: behaviour))
    if isGET { reply.onBodySent = { [weak self] in self?.sent($0, in: number) } }
    return reply
  }

  private func steps(
    _ status: Int, fields: HeaderList, pattern: BytePattern, part: Range<Int64>, cut: Cut?, behaviour: Behaviour
  ) -> [ReplyStep] {
    let count = Int64(part.count)
    let cut = cut.flatMap { $0.bytes < count ? $0 : nil }
    let sending = cut?.bytes ?? count
    var steps: [ReplyStep] = []
    if let rate = behaviour.bytesPerSecond { steps.append(.limitRate(bytesPerSecond: rate)) }
    if behaviour.hidesLength {
      let each = behaviour.bytesPerSecond.map { min(max($0 / 50, 1), 64 * 1024) } ?? 64 * 1024
      steps.append(.head(status, fields: fields + [("Transfer-Encoding", "chunked")]))
      steps.append(.patternChunks(pattern, from: part.lowerBound, count: sending, each: each))
      steps.append(cut?.ending.step ?? .endOfChunks)
    } else {
      steps.append(.head(status, fields: fields + [("Content-Length", String(count))]))
      let early = min(behaviour.pause?.bytes ?? sending, sending)
      steps.append(.pattern(pattern, from: part.lowerBound, count: early))
      if let pause = behaviour.pause, early < sending {
        steps.append(.waitFor(pause.gate))
        steps.append(.pattern(pattern, from: part.lowerBound + early, count: sending - early))
      }
      if let cut { steps.append(cut.ending.step) }
    }
    return steps
  }

  /// RFC 9110 §13.1.5: a strong entity tag that is the same, or exactly the same date.
  private static func ifRangeHolds(_ request: RecordedRequest, _ version: Version) -> Bool {
    guard let validator = request.value("If-Range") else { return true }
    if validator.hasPrefix("W/") { return false }
    return validator.hasPrefix("\"") ? validator == version.etag : validator == version.lastModified
  }

  private static func contentRange(of range: Range<Int64>, _ size: Int64, _ behaviour: Behaviour) -> String? {
    switch behaviour.contentRange {
    case .correct: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    case .shifted(let by): "bytes \(range.lowerBound + by)-\(range.upperBound - 1 + by)/\(size)"
    case .wrongTotal(let total): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
    case .text(let text): text
    case .missing: nil
    }
  }

  private func note(_ served: Served) -> Int {
    state.withLock { state in
      state.served.append(served)
      return state.served.count - 1
    }
  }

  private func sent(_ count: Int, in number: Int) {
    state.withLock { $0.served[number].sent += Int64(count) }
  }
}
