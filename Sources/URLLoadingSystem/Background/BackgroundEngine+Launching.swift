import TransferProtocol

extension BackgroundEngine {
  /// Tells the service that the app has handled the events it was launched for.
  static func doneHandlingEvents(ofSession identifier: String) async {
    let request = ClientRequest.doneHandlingEvents(SessionReference(session: identifier))
    let attached = await BackgroundEngines.engine(of: identifier)?.presentConnection()
    do {
      let connection: any TransferConnection
      if let attached {
        connection = attached
      } else {
        connection = try await ServiceConnector().open(onPush: { _ in }, onClose: {})
      }
      _ = try await connection.request(request)
    } catch {
      // A service that was not told starts the app again later: nothing is lost.
    }
  }

  private func presentConnection() async -> (any TransferConnection)? {
    await withCheckedContinuation { continuation in onLoop { continuation.resume(returning: $0.connection) } }
  }
}
