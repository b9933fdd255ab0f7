import NIOPosix

/// Asks a subclass of `URLCache` for what is stored, away from the loop: its methods may block.
enum SubclassLookup {
  static func find(
    in cache: URLCache, for task: URLSessionDataTask, control: LoadControl
  ) async throws -> CachedURLResponse? {
    let reference = PendingAnswerReference<CachedURLResponse?>()
    return try await control.abortable(onAbort: { _ in reference.answer?.abandon() }) {
      await withUnsafeContinuation { continuation in
        let pending = PendingAnswer(continuation, fallback: CachedURLResponse?.none)
        reference.answer = pending
        NIOThreadPool.singleton.submit { state in
          // Dropping the question gives the fallback.
          guard case .active = state else { return }
          cache.getCachedResponse(for: task) { pending.give($0) }
        }
      }
    }
  }
}
