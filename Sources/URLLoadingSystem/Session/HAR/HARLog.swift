import Foundation
import TransferProtocol

/// A record of loads on the network, in the HTTP Archive format 1.2, which the network panels of browsers open.
///
/// ```swift
/// func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
///   log.append(metrics)
/// }
/// …
/// try log.encoded().write(to: file)
/// ```
/// Bodies are not part of metrics, and so not of the log. Credentials are left out unless asked for.
public struct HARLog: Codable, Sendable, Equatable {
  /// The version of the format: `1.2`.
  public var version = "1.2"
  /// The program that made the log.
  public var creator: Creator
  /// In the order of their start.
  public var entries: [Entry] = []

  /// The program that made a log.
  public struct Creator: Codable, Sendable, Equatable {
    /// The name of the program.
    public var name: String
    /// The version of the program.
    public var version: String

    /// A program by name and version.
    public init(name: String, version: String) {
      self.name = name
      self.version = version
    }
  }

  /// The parts of a load that are secret.
  public enum Credentials: Sendable {
    /// The values of Authorization, Proxy-Authorization, Cookie and Set-Cookie are replaced by `(not shown)`, and names
    /// and passwords are taken out of URLs. The path and the query of a URL are left as they are.
    case redacted
    /// Everything is kept.
    case included
  }

  /// An empty log.
  /// - Parameter creator: Default: this library.
  public init(creator: Creator = Creator(name: "URLLoadingSystem", version: "1")) { self.creator = creator }

  /// Adds an entry for each transaction.
  public mutating func append(_ metrics: URLSessionTaskMetrics, credentials: Credentials = .redacted) {
    entries += metrics.transactionMetrics.map { Entry($0, credentials: credentials) }
    // One after the other it is in order; tasks side by side are not.
    entries = entries.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
      .map(\.element)
  }

  /// The content of a `.har` file: JSON in UTF-8.
  public func encoded() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(Document(log: self))
  }

  /// Reads the content of a `.har` file. What this library does not write is skipped.
  /// - Throws: `DecodingError` when it is not one.
  public init(decoding data: Data) throws { self = try JSONReader.decode(Document.self, from: data).log }

  private struct Document: Codable { let log: HARLog }
}
