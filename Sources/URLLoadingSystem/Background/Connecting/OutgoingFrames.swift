import Foundation
import SystemServices

/// The messages of a connection on their way to the service, in order. A value.
///
/// Open files travel with a byte of their own, which the service reads in another way than messages. So between a message
/// that announces files and the files nothing else is sent.
struct OutgoingFrames {
  struct Frame {
    let request: UInt64
    let bytes: Data
    var files: [SourceFile]
  }

  private var waiting: [Frame] = []
  /// The message behind which nothing is sent yet.
  private var announcing: Frame?

  /// Returns the messages to write now.
  mutating func add(_ frame: Frame) -> [Frame] {
    waiting.append(frame)
    return next()
  }

  /// The files that the service asks for; nil when that request has none to send.
  mutating func takeFiles(of request: UInt64) -> [SourceFile]? {
    guard let announcing, announcing.request == request, !announcing.files.isEmpty else { return nil }
    self.announcing?.files = []
    return announcing.files
  }

  mutating func filesSent(of request: UInt64) -> [Frame] { ended(request) }

  /// The service has answered without asking for the files.
  mutating func answered(_ request: UInt64) -> [Frame] { ended(request) }

  private mutating func ended(_ request: UInt64) -> [Frame] {
    guard announcing?.request == request else { return [] }
    announcing = nil
    return next()
  }

  private mutating func next() -> [Frame] {
    guard announcing == nil, !waiting.isEmpty else { return [] }
    let last = waiting.firstIndex { !$0.files.isEmpty } ?? waiting.endIndex - 1
    let frames = Array(waiting[...last])
    waiting.removeFirst(frames.count)
    if let frame = frames.last, !frame.files.isEmpty { announcing = frame }
    return frames
  }
}
