import Foundation
import HTTPTransport
import NIOCore
import URLLoadingSystem

/// Keeps one run to its pace, between the writing of bytes and the reading of the next ones, and before bytes of an upload are
/// sent. Confined to the load's loop.
final class RunPacing {
  private let pace: TransferPace
  private let context: LoadContext
  /// The receive window that the connection was given; nil where it has its own.
  private var window: Int?

  init?(_ pace: TransferPace?, of context: LoadContext) {
    guard let pace else { return nil }
    self.pace = pace
    self.context = context
  }

  /// Waits as long as the pace says. Ends with the load's error when that is aborted.
  func hold(after bytes: Int) async throws {
    context.loop.assertInEventLoop()
    count(bytes, .receiving)
    limitWindow()
    defer { pace.waitEnded() }
    while case let seconds = pace.wait(), seconds > 0 { try await context.control.sleep(seconds) }
  }

  /// Another connection carries the load, or the same one begins anew: it has its own window.
  func requestBegins() {
    context.loop.assertInEventLoop()
    window = nil
  }

  private func limitWindow() {
    let wanted = pace.receiveWindow
    // Small changes are not worth a call.
    if let wanted, let window, abs(wanted - window) < window / 8 { return }
    guard wanted != window else { return }
    window = wanted
    context.limitReceiveWindow(wanted)
  }

  private func count(_ bytes: Int, _ direction: ConnectionDelay.Direction) {
    if pace.count(bytes) { context.measureDelay(direction) { [pace] in pace.measured($0) } }
  }
}

extension RunPacing: BodyPacing {
  var largestPiece: Int? {
    context.loop.assertInEventLoop()
    return pace.largestPiece
  }

  var delay: TimeInterval {
    context.loop.assertInEventLoop()
    return pace.wait()
  }

  func waitEnded() {
    context.loop.assertInEventLoop()
    pace.waitEnded()
  }

  func sent(_ bytes: Int) {
    context.loop.assertInEventLoop()
    count(bytes, .sending)
  }
}
