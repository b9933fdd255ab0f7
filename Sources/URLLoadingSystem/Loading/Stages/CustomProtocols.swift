import Foundation
import HTTPTransport

/// Offers every hop of a request to the app's own `URLProtocol` classes. The one that accepts stands in for all that lies
/// further inside: `Docs/Decisions/0101-which-stages-custom-protocols-pass.md`.
struct CustomProtocols: LoadStage {
  func willSend(_ run: PipelineRun) -> LoadStep {
    let context = run.context
    let choice = context.protocolChoice
    context.protocolChoice = nil
    switch choice {
    case .builtIn: return .proceed
    case .custom(let type): return begin([type], isChosen: true, run)
    case nil:
      let classes = context.configuration.protocols.present
      // The handshake of a WebSocket needs the connection.
      guard !classes.isEmpty, context.upgrade == nil else { return .proceed }
      return begin(classes, isChosen: false, run)
    }
  }

  private func begin(_ classes: [URLProtocol.Type], isChosen: Bool, _ run: PipelineRun) -> LoadStep {
    let load = ProtocolLoad(run)
    load.begin(classes, isChosen: isChosen)
    return .pending(load)
  }

  /// The choice of a loader for `request`, before it is loaded. The next run of the pipeline keeps to it.
  ///
  /// - Returns: Whether a custom protocol loads the request.
  /// - Throws: The reason of an abort, also while a class blocks.
  static func choose(for request: LoadRequest, in context: LoadContext) async throws -> Bool {
    context.loop.assertInEventLoop()
    let classes = context.configuration.protocols.present
    guard !classes.isEmpty else { return false }
    let offer = ProtocolOffer(task: context.client.protocolTask, request: ProtocolRequest(request).shown)
    let reference = PendingAnswerReference<URLProtocol.Type?>()
    let chosen = try await context.control.abortable(onAbort: { _ in reference.answer?.abandon() }) {
      await withUnsafeContinuation { (continuation: UnsafeContinuation<URLProtocol.Type?, Never>) in
        let pending = PendingAnswer(continuation, fallback: nil)
        reference.answer = pending
        ProtocolThreads.shared.start { _ in
          pending.give(ProtocolOffer.$current.withValue(offer) { classes.first { offer.isAccepted(by: $0) } })
        }
      }
    }
    context.protocolChoice = chosen.map { .custom($0) } ?? .builtIn
    return chosen != nil
  }
}

/// Which loader was chosen for a request ahead of its load.
enum ProtocolChoice {
  case builtIn
  case custom(URLProtocol.Type)
}
