import Foundation
import NIOCore
import URLLoadingSystem

/// Keeps one run to its pace: called between the writing of bytes and the reading of the next ones. Confined to the load's
/// loop.
final class RunPacing {
  private let pace: TransferPace
  private let context: LoadContext

  init?(_ pace: TransferPace?, of context: LoadContext) {
    guard let pace else { return nil }
    self.pace = pace
    self.context = context
  }

  /// Waits as long as the pace says. Ends with the load's error when that is aborted.
  func hold(after bytes: Int) async throws {
    context.loop.assertInEventLoop()
    if pace.count(bytes) { context.measureDelay { [pace] in pace.measured($0) } }
    while case let seconds = pace.wait(), seconds > 0 { try await context.control.sleep(seconds) }
  }
}
