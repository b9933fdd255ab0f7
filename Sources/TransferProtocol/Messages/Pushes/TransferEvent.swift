/// A change of a task that is final. `completed` is the last event of a task.
package enum TransferEvent: Codable, Sendable, Equatable {
  /// The file holds the whole body. The app may move it away; what is left of it when the event is acknowledged is
  /// deleted. Each delivery of the event names a file of its own.
  case finishedDownloading(FinishedDownload)
  case completed(Completion)

  private enum CodingKeys: String, CodingKey { case finishedDownloading, completed }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let download = try container.decodeIfPresent(FinishedDownload.self, forKey: .finishedDownloading) {
      self = .finishedDownloading(download)
    } else {
      self = .completed(try container.decode(Completion.self, forKey: .completed))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .finishedDownloading(let download): try container.encode(download, forKey: .finishedDownloading)
    case .completed(let completion): try container.encode(completion, forKey: .completed)
    }
  }
}
