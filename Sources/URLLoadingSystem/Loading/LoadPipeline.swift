import Foundation

/// The ordered list of everything that can happen to a request.
///
/// A load runs as one Swift task on an event loop (`LoadContext.start`). Each stage gets the request and `next`, the
/// rest of the list; it may change the request, call `next` once, several times or never, and change what comes
/// back. The list ends in the loader of the URL's scheme.
package enum LoadPipeline {
  static let stages: [any LoadStage] = [
    Redirects(),
    TransportSecurity(),
    TypeSniffing(),
    ContentDecoding(),
  ]

  /// Loads `request` up to its response head. Runs on the context's event loop.
  package static func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    try await Next(index: 0)(request, context)
  }

  /// The stages after the one that is running.
  struct Next: Sendable {
    let index: Int

    func callAsFunction(_ request: LoadRequest, _ context: LoadContext) async throws -> LoadedResponse {
      try context.control.check()
      guard index < LoadPipeline.stages.count else {
        return try await SchemeLoaders.loader(for: request.urlRequest).load(request, in: context)
      }
      return try await LoadPipeline.stages[index].load(request, in: context, next: Next(index: index + 1))
    }
  }
}

/// One thing that happens to requests and responses. Stages hold no state: a load's state is in its context.
protocol LoadStage: Sendable {
  func load(_ request: LoadRequest, in context: LoadContext, next: LoadPipeline.Next) async throws -> LoadedResponse
}

/// What a pipeline ends in: the loader of one or more URL schemes.
protocol SchemeLoader: Sendable {
  func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse
}
