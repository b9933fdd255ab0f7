import Foundation
import HTTPSemantics
import NIOCore

/// Tells the delegates of each part of a `multipart/x-mixed-replace` body as of a response of its own: what becomes of
/// it is asked anew, then its data follows. Confined to the load's event loop.
///
/// A part that becomes a download is the last: the file is complete when the part is.
final class MixedReplaceSink: LoadSink, @unchecked Sendable {
  private let load: TaskLoad
  private let task: URLSessionDataTask
  private let whole: HTTPURLResponse
  private var parser: MixedReplaceParser
  private var sink: any LoadSink
  private var isDownload = false
  private(set) var hasEnough = false
  /// A download has received its part, not what is around it.
  var countsBytes: Bool { isDownload }

  /// - Parameters:
  ///   - whole: The response whose body the parts are. The delegates know it already.
  ///   - sink: What takes the data of the parts.
  init(load: TaskLoad, task: URLSessionDataTask, whole: HTTPURLResponse, boundary: String, sink: any LoadSink) {
    self.load = load
    self.task = task
    self.whole = whole
    self.sink = sink
    parser = MixedReplaceParser(boundary: boundary)
  }

  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws {
    context.loop.assertInEventLoop()
    parser.append(chunk.readableBytesView)
    try await handOut(in: context)
  }

  func finish(in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    if !hasEnough {
      parser.end()
      try await handOut(in: context)
    }
    return try await sink.finish(in: context)
  }

  func abandon() async { await sink.abandon() }

  private func handOut(in context: LoadContext) async throws {
    while !hasEnough, let event = try next() {
      switch event {
      case .head(let fields): try await begin(fields, in: context)
      case .body(let bytes):
        if isDownload { load.countReceived(bytes.count) }
        try await sink.receive(ByteBuffer(bytes: bytes), in: context)
      case .endOfPart: hasEnough = isDownload
      }
    }
  }

  private func next() throws -> MixedReplaceParser.Event? {
    do { return try parser.next() } catch {
      throw ErrorMapping.urlError(
        ErrorMapping.make(.cannotParseResponse, because: "The head of a part of the response is too large."),
        url: whole.url)
    }
  }

  private func begin(_ fields: HTTPFields, in context: LoadContext) async throws {
    var head = whole.head
    head.fields = fields
    let part = HTTPURLResponse(url: whole.url, head: head)
    task.noteResponse(part)
    switch try await load.askAboutResponse(part, of: task, in: context) {
    case .allow: break
    case .becomeDownload:
      task.bytesExpectedToReceive.store(part.expectedContentLength, ordering: .relaxed)
      sink = try await load.becomeDownload(task, in: context)
      isDownload = true
    case .cancel: throw ErrorMapping.cancelled
    case .becomeStream:
      throw ErrorMapping.make(.unsupportedURL, because: "A part of a response can't become a stream task.")
    }
  }
}
