/// A change of a task that is final. `completed` is the last event of a task.
package enum TransferEvent: Codable, Sendable, Equatable {
  /// The file holds the whole body. The app may move it away; what is left of it when the event is acknowledged is
  /// deleted. Each delivery of the event names a file of its own.
  case finishedDownloading(FinishedDownload)
  case completed(Completion)
  /// An event of a newer service, with its name in messages. It comes beside the others and changes nothing of them: an
  /// app that does not know it acknowledges it.
  case other(String)

  private struct Name: CodingKey {
    static let (finishedDownloading, completed) = (Name("finishedDownloading"), Name("completed"))

    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { return nil }
  }

  private struct Nothing: Codable {}

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Name.self)
    if let download = try container.decodeIfPresent(FinishedDownload.self, forKey: .finishedDownloading) {
      self = .finishedDownloading(download)
    } else if let completion = try container.decodeIfPresent(Completion.self, forKey: .completed) {
      self = .completed(completion)
    } else if let name = container.allKeys.first {
      self = .other(name.stringValue)
    } else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "an event without a name"))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    switch self {
    case .finishedDownloading(let download): try container.encode(download, forKey: .finishedDownloading)
    case .completed(let completion): try container.encode(completion, forKey: .completed)
    case .other(let name): try container.encode(Nothing(), forKey: Name(name))
    }
  }
}
