import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// The request of a download, where it does harm when it arrives twice: it is made by one try alone, unless no server can have
/// acted on it. The queue and the journal have it that it is begun before its first byte is sent, so that a later life of the
/// service does not make it again. Confined to the load's event loop; the queue is written on the runner's pool.
final class BegunRequest: @unchecked Sendable {
  private let job: DownloadJob
  private let runner: DownloadRunner
  private let context: LoadContext
  /// As the queue has it, or may have it.
  private var isNoted: Bool

  init(_ job: DownloadJob, runner: DownloadRunner, in context: LoadContext) {
    self.job = job
    self.runner = runner
    self.context = context
    isNoted = job.isBegun
  }

  /// Whether another try may make the request.
  var mayRepeat: Bool {
    context.loop.assertInEventLoop()
    return job.request.isRepeatable || !job.isBegun && !context.mayHaveBeenActedOn
  }

  /// Throws where an earlier try may have brought the server the request.
  func check() throws {
    context.loop.assertInEventLoop()
    guard job.isBegun, !job.request.isRepeatable else { return }
    throw ErrorMapping.make(
      .networkConnectionLost,
      because: "The request had been sent when the try was interrupted. The server may have acted on it, and it is not "
        + "repeated: its method is \(job.request.method), and it has no Idempotency-Key.")
  }

  /// Before the first byte of the request.
  func note() async throws {
    context.loop.assertInEventLoop()
    guard !job.request.isRepeatable, !isNoted else { return }
    isNoted = true
    let (runner, id, loop) = (self.runner, job.id, context.loop)
    try await context.control.whileClientHoldsLoad {
      try await loop.blocking(on: runner.pool) { try runner.store.setBegun(true, of: id) }
    }
    try await context.control.whileClientHoldsLoad { try await runner.journals?.keptForGood(id) }
  }

  /// The try is over: a request that no server can have acted on is not begun. Returns when nothing is being written any more.
  func close(after outcome: DownloadOutcome) async {
    context.loop.assertInEventLoop()
    switch outcome {
    case .finished, .failed: return
    case .stopped, .retry, .refused, .needsApp, .storageUnavailable, .noSpace: break
    }
    guard isNoted, !job.isBegun, !context.mayHaveBeenActedOn else { return }
    let (runner, id) = (self.runner, job.id)
    do {
      try await context.loop.blocking(on: runner.pool) { try runner.store.setBegun(false, of: id) }
      isNoted = false
      runner.journals?.renew(id)
    } catch {
      runner.log.warning("transfer \(id) ends at its next try, since its request counts as sent: \(error)")
    }
  }
}

extension RequestDescription {
  /// Whether it does no harm when it arrives twice.
  var isRepeatable: Bool {
    HTTPMethod.isIdempotent(method.uppercased()) || headers.contains { $0.name.lowercased() == "idempotency-key" }
  }
}

extension LoadContext {
  /// Whether a server may have acted on a request of the load: one had a connection to go out on, and was not turned away.
  var mayHaveBeenActedOn: Bool {
    loop.assertInEventLoop()
    return transactions.contains { record in
      guard record.sentHead != nil else { return false }
      guard let response = record.response as? HTTPURLResponse else { return true }
      return !LoadContext.turningAway.contains(response.statusCode)
    }
  }

  /// By these statuses a server says that the request is to be made elsewhere, or in another way (RFC 9110 §15, RFC 8470 §5.2).
  private static let turningAway: Set<Int> = [307, 308, 401, 407, 417, 421, 425]
}
