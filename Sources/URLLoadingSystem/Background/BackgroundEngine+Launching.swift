import HTTPTransport
import NIOCore
import TransferProtocol

extension BackgroundEngine {
  /// Tells the service that the app has handled the events it was launched for.
  ///
  /// The session's engine tells it over the connection through which the session is attached, or over the next one when
  /// there is none or it ends before the answer. Without an engine a connection of its own tells it: the session is not
  /// attached through that one, which would replace its options.
  ///
  /// Returns when the service knows, and after `patience` at the latest. A service that was not told starts the app again
  /// later: nothing is lost.
  static func doneHandlingEvents(
    ofSession identifier: String, connector: any TransferConnecting = ServiceConnector(),
    patience: TimeAmount = .seconds(30)
  ) async {
    let request = ClientRequest.doneHandlingEvents(SessionReference(session: identifier))
    let engine = BackgroundEngines.engine(of: identifier)
    let executor = engine?.executor ?? LoopExecutor.all[0]
    await withCheckedContinuation { continuation in
      let end = OnceOnly { continuation.resume() }
      let timer = executor.loop.scheduleTask(in: patience) { end.perform() }
      Task(executorPreference: executor) {
        if let engine {
          await engine.tell(request)
        } else {
          _ = try? await connector.open(onPush: { _ in }, onClose: {}).request(request)
        }
        timer.cancel()
        end.perform()
      }
    }
  }

  /// Returns when the service has answered, or the engine has ended.
  private func tell(_ request: ClientRequest) async {
    var earlier: (any TransferConnection)?
    while let connection = await attachedConnection(otherThan: earlier) {
      do {
        _ = try await connection.request(request)
        return
      } catch let refusal as Refusal where !refusal.isTemporary {
        return
      } catch { earlier = connection }
    }
  }
}
