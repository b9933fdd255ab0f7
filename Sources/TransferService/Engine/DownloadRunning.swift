/// Runs one try at one download.
package protocol DownloadRunning: Sendable {
  /// - Parameters:
  ///   - report: called in order, before `ended`, on any thread.
  ///   - ended: called once, on any thread.
  func start(
    _ job: DownloadJob, report: @escaping @Sendable (DownloadReport) -> Void,
    ended: @escaping @Sendable (DownloadOutcome) -> Void
  ) -> any DownloadStopping
  /// Nothing of a session is needed any more.
  func forget(_ session: SessionID)
}

extension DownloadRunning {
  package func forget(_ session: SessionID) {}
}

extension DownloadRunner: DownloadRunning {}
