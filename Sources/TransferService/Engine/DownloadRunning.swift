/// Runs one try at one download.
package protocol DownloadRunning: Sendable {
  /// - Parameters:
  ///   - report: called in order, before `ended`, on any thread.
  ///   - ended: called once, on any thread.
  func start(
    _ job: DownloadJob, report: @escaping @Sendable (DownloadReport) -> Void,
    ended: @escaping @Sendable (DownloadOutcome) -> Void
  ) -> any DownloadStopping
  /// How many of the free bytes of the disk no run and no copy has claimed.
  func unclaimed(of free: Int64) -> Int64
  /// Nothing of a session is needed any more.
  func forget(_ session: SessionID)
  /// Records an upload beside the queue, for the case that this is lost. Does not wait for the disk.
  func keepUpload(_ transfer: TransferID)
  /// Writes the record of a transfer that has one anew. Does not wait for the disk.
  func renewRecord(of transfer: TransferID)
}

extension DownloadRunning {
  package func unclaimed(of free: Int64) -> Int64 { free }
  package func forget(_ session: SessionID) {}
  package func keepUpload(_ transfer: TransferID) {}
  package func renewRecord(of transfer: TransferID) {}
}

extension DownloadRunner: DownloadRunning {
  package func keepUpload(_ transfer: TransferID) { journals?.keep(transfer) }

  package func renewRecord(of transfer: TransferID) { journals?.renew(transfer) }
}
