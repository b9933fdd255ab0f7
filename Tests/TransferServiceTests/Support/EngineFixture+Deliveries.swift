import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

extension EngineFixture {
  /// An app that has got its download's file and end, and has not said so; and where the file is.
  ///
  /// - Parameter change: of the download of `/f`.
  func appWithItsEvents(
    _ server: LoopbackServer, _ change: (inout TransferDescription) -> Void = { _ in }
  ) async throws -> (app: FakeClient, path: String) {
    let app = client()
    try await app.begin()
    var download = TransferDescription.download(server.url("/f").absoluteString)
    change(&download)
    _ = try await app.create([download])
    let path = try #require(try await app.nextEvent().download).path
    _ = try await app.nextEvent()
    return (app, path)
  }
}
