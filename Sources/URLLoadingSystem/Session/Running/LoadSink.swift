import Foundation
import NIOCore

/// The consumer of a task's body. Called on the load's event loop, one call at a time; a call that does not return
/// holds the transfer back.
protocol LoadSink: AnyObject, Sendable {
  /// Takes `chunk` where that needs no waiting. False, and nothing is taken: call `receive`.
  func accept(_ chunk: ByteBuffer) throws -> Bool
  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws
  /// The body is complete.
  func finish(in context: LoadContext) async throws -> Received
  /// The load failed; what was received is of no use.
  func abandon() async
  /// Whether the rest of the body is not wanted.
  var hasEnough: Bool { get }
  /// Whether the sink counts the bytes received by itself, because not all that it is given is the task's.
  var countsBytes: Bool { get }
  /// The task that takes the connection instead of the body; nil for none.
  var streamTask: URLSessionStreamTask? { get }
}

extension LoadSink {
  func accept(_ chunk: ByteBuffer) throws -> Bool { false }
  var hasEnough: Bool { false }
  var countsBytes: Bool { false }
  var streamTask: URLSessionStreamTask? { nil }
}

/// Hands the body to the task's delegates.
final class DelegateSink: LoadSink {
  private let task: URLSessionDataTask
  private let delivery: TaskDelivery?

  init(task: URLSessionDataTask, delivery: TaskDelivery?) {
    self.task = task
    self.delivery = delivery
  }

  func accept(_ chunk: ByteBuffer) -> Bool { delivery?.deliverAtOnce(chunk, of: task) ?? true }

  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws {
    try await delivery?.deliver(chunk, of: task, control: context.control)
  }

  func finish(in context: LoadContext) async throws -> Received { .nothing }

  func abandon() async {}
}

/// Hands the body to an `AsyncBytes`.
final class BytesSink: LoadSink {
  private let feed: AsyncBytesFeed

  init(_ feed: AsyncBytesFeed) { self.feed = feed }

  func receive(_ chunk: ByteBuffer, in context: LoadContext) async throws {
    if feed.append(chunk) { try await feed.flow.makeRoom(context.control) }
  }

  func finish(in context: LoadContext) async throws -> Received { .nothing }

  func abandon() async {}
}
