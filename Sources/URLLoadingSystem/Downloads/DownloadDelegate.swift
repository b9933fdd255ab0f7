/// The delegate of a download.
@available(*, deprecated)
struct DownloadDelegate: @unchecked Sendable {
  // Sendable by hand: it is called on the run loop of the thread that made the download.
  let base: (any NSURLDownloadDelegate)?

  init(_ base: (any NSURLDownloadDelegate)?) { self.base = base }
}
