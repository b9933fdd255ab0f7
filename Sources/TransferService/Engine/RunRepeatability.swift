/// Whether a run may be ended for the sake of other transfers or of a better time, and another one goes on later: a request that
/// the server may have as a whole is not made again where that may do harm (RFC 9110 §9.2.2). As the run has reported last. A
/// value.
struct RunRepeatability: Sendable, Equatable {
  private let isUpload: Bool
  /// Whether a request that arrives twice does no harm.
  private let isRepeatable: Bool
  /// Of an upload's file; nil where it could not be read, which ends the run.
  private let size: Int64?
  /// Bytes of it that are sent.
  private var sent: Int64 = 0
  /// Bytes of it that the server says it keeps.
  private var kept: Int64
  private var isAnswered = false

  init(_ job: DownloadJob) {
    let size = job.upload.flatMap { $0.size >= 0 ? $0.size : nil }
    self.init(
      isUpload: job.kind == .upload, isRepeatable: job.request.isRepeatable, size: size,
      kept: job.upload?.place?.acknowledged ?? 0)
  }

  init(isUpload: Bool, isRepeatable: Bool, size: Int64?, kept: Int64 = 0) {
    (self.isUpload, self.isRepeatable, self.size, self.kept) = (isUpload, isRepeatable, size, kept)
  }

  mutating func advanced(to sent: SentBytes, kept: KeptBytes) {
    (self.sent, self.kept) = (max(0, sent.count), kept.count)
  }
  mutating func answered() { isAnswered = true }

  func mayGoOnLater(bytesPerSecond: Int64) -> Bool {
    guard isUpload else { return isRepeatable }
    let unsent = size.map { $0 - sent } ?? .max
    // A server that keeps the whole says later that it has it, and gives its answer once.
    if kept > 0 { return !isAnswered && unsent > 0 }
    // A run sends more until it is told to end and does so.
    return isRepeatable || !isAnswered && unsent > UploadSending.onTheWay.saturatingAdd(bytesPerSecond)
  }
}
