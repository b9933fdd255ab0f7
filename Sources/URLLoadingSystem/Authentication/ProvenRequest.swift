import Foundation
import HTTPSemantics
import HTTPTransport

/// The parts of a request that a proof may speak of.
struct ProvenRequest {
  /// CONNECT for a tunnel.
  var method: String
  /// The request target as it is sent: of the origin form, or host and port for a tunnel.
  var target: String
  /// The body, where it is in memory; nil for a body that is read as it is sent.
  var body: Data?
  /// The hash of a body that is read as it is sent, where it was read for that; see `AuthenticationProof.bodyHash`.
  var bodyHash: String?
}

extension ProvenRequest {
  init(_ run: PipelineRun, _ target: HTTPTarget, bodyHash: String? = nil) {
    let request = run.request
    self.init(
      method: request.urlRequest.httpMethod ?? "GET", target: target.requestTarget, body: nil, bodyHash: bodyHash)
    switch request.body {
    case .data(let data): body = RequestBodySource.part(of: data, request.bodyRange)
    case .none: body = request.urlRequest.httpBodyStream == nil ? request.urlRequest.httpBody ?? Data() : nil
    case .file, .content, .stream, .streamFromClient: body = nil
    }
  }
}

extension AuthenticationProof {
  /// False where `getReady` must be awaited before the next request of a load.
  func isReady(for run: PipelineRun) -> Bool {
    switch run.request.body {
    case .file, .content: bodyHash == nil && isPrepared
    case .none, .data, .stream, .streamFromClient: isPrepared
    }
  }

  /// Prepares the proof, and reads a body that the value depends on.
  ///
  /// - Returns: The hash of the body; nil where none is needed.
  /// - Throws: A `URLError` when the file can't be read, or the error of an abort of the load.
  func getReady(for run: PipelineRun) async throws -> String? {
    if !isPrepared { await prepare() }
    let context = run.context
    guard let bodyHash, let file = try await FileReader.open(run.request.body, in: context) else { return nil }
    _ = run.request.bodyRange.map { file.restrict(to: $0) }
    var hasher = DigestHasher(bodyHash)
    // The load's idle time is for the network.
    return try await context.control.whileClientHoldsLoad {
      while let read = try await file.hash(into: hasher) {
        hasher = read
        try context.control.check()
      }
      return hasher.finished()
    }
  }
}
