import Foundation
import HTTPTransport
import LoopbackServer

@testable import URLLoadingSystem

/// One try of a download, without a task or a transfer around it: notes what the flow tells its client.
final class DownloadTry<Place: DownloadPlace>: DownloadClient, LoadClient, @unchecked Sendable {
  typealias Destination = Place.Destination

  private let place: Place
  // Confined to the load's loop.
  private var destination: Destination?
  private(set) var events: [String] = []
  private(set) var received: Int64 = 0

  private let configuration: LoadConfiguration

  init(in place: Place, _ configuration: LoadConfiguration) {
    self.place = place
    self.configuration = configuration
  }

  func downloadAdvanced(_ event: DownloadEvent) {
    if let destination { place.note(event, in: destination) }
    events.append(Self.text(of: event))
  }

  private static func text(of event: DownloadEvent) -> String {
    switch event {
    case .began(_, _, let isRestart): isRestart ? "began again" : "began"
    case .resumed(_, let offset, let expected): "resumed at \(offset) of \(expected.map { "\($0)" } ?? "*")"
    case .continued: "continued"
    case .wasComplete(_, let count): "was complete with \(count)"
    case .answered(let loaded): "answered \(loaded.head?.status ?? 0)"
    case .startsOver: "starts over"
    }
  }

  func downloadReceived(_ bytes: Int, total: Int64) { received += Int64(bytes) }

  func makeDestination(in context: LoadContext) async throws -> Destination {
    try await place.openAnother(in: context)
  }

  /// Runs the try to its end.
  func run(_ request: URLRequest, over transport: HTTPTransport) async throws -> DownloadTryEnd {
    let context = LoadContext(
      for: request.url, configuration: configuration, transport: transport,
      client: self)
    let ends = Recorder<DownloadTryEnd>()
    context.start { context in
      ends.record(await self.end(of: request, in: context))
      context.control.finish()
    }
    return try await ends.next()
  }

  private func end(of request: URLRequest, in context: LoadContext) async -> DownloadTryEnd {
    do {
      let (destination, representation) = try await place.open(in: context)
      self.destination = destination
      let flow = ResumableDownload(
        request, into: destination, of: representation, for: self, policy: place.policy, in: context)
      do {
        return .complete(path: place.path(of: try await flow.run()), events: events)
      } catch {
        let kept = await flow.salvage()
        await place.broke(kept, in: destination)
        return .broke(ErrorMapping.urlError(error, url: nil).code, kept: kept?.count, events: events)
      }
    } catch { return .broke(.unknown, kept: nil, events: ["\(error)"]) }
  }
}

enum DownloadTryEnd: Sendable {
  case complete(path: String, events: [String])
  case broke(URLError.Code, kept: Int64?, events: [String])
}
