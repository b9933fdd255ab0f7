import Foundation

/// The part of the description of a task that a list shows.
package struct TransferOutline: Sendable, Equatable {
  package var kind: TransferKind
  package var url: String
  package var taskDescription: String?
  package var bytesPerSecond: Int64?
  package var hourlyLimits: [BandwidthLimit]?

  package init(_ description: TransferDescription) {
    kind = description.kind
    url = description.request.url
    taskDescription = description.taskDescription
    bytesPerSecond = description.bytesPerSecond
    hourlyLimits = description.hourlyLimits
  }

  /// Reads it from the JSON of a description, and passes over everything else in it. nil: it is no description.
  package init?(descriptionJSON json: Data) {
    if let outline = JSONScanner.read(json, TransferOutline.init(descriptionFrom:)) {
      self = outline
    } else if let description = try? MessageFraming.decode(TransferDescription.self, from: json) {
      self.init(description)
    } else {
      return nil
    }
  }

  private init(descriptionFrom scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var kind: TransferKind?
    var url: String?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "bytesPerSecond": bytesPerSecond = try scanner.optional()
      case "hourlyLimits": hourlyLimits = try scanner.codable()
      case "kind": kind = try scanner.value()
      case "request": url = try TransferOutline.url(from: &scanner)
      case "taskDescription": taskDescription = try scanner.optional()
      default: try scanner.skip()
      }
    }
    guard let kind, let url else { throw JSONScanner.Unfit() }
    (self.kind, self.url) = (kind, url)
  }

  private static func url(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) -> String? {
    var url: String?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "url": url = try scanner.value()
      default: try scanner.skip()
      }
    }
    return url
  }
}
