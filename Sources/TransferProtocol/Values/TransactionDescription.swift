import Foundation

/// One request of a transfer and its response, with their times: what the app rebuilds a transaction of its task's metrics
/// from. Credentials are left out of it.
package struct TransactionDescription: Codable, Sendable, Equatable {
  /// How many of a transfer are told: the latest.
  package static let maximumCount = 64
  /// How many bytes the fields of a head may have here, and a URL; what is behind is left out.
  package static let maximumFieldLength = 4_096

  package enum Source: String, Codable, Sendable {
    case unknown, networkLoad, localCache

    /// A source of a newer service is not known.
    package init(from decoder: any Decoder) throws {
      self = Source(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
  }

  /// The moments of a transaction that took place.
  package struct Times: Codable, Sendable, Equatable {
    package var fetchStart: Date?
    package var domainLookupStart: Date?
    package var domainLookupEnd: Date?
    package var connectStart: Date?
    package var secureConnectionStart: Date?
    package var secureConnectionEnd: Date?
    package var connectEnd: Date?
    package var requestStart: Date?
    package var requestEnd: Date?
    package var responseStart: Date?
    package var responseEnd: Date?

    package init() {}
  }

  /// The connection of a transaction; nil values are not known.
  package struct Connection: Codable, Sendable, Equatable {
    package var protocolName: String?
    /// The number of Apple's protocol of the name's resolution.
    package var domainResolution: Int?
    package var isProxy = false
    package var isReused = false
    package var localAddress: String?
    package var localPort: Int?
    package var remoteAddress: String?
    package var remotePort: Int?
    package var tlsVersion: UInt16?
    package var tlsCipherSuite: UInt16?
    package var isCellular = false
    package var isExpensive = false
    package var isConstrained = false
    package var isMultipath = false

    package init() {}
  }

  package struct ByteCounts: Codable, Sendable, Equatable {
    package var requestHeader: Int64 = 0
    package var requestBody: Int64 = 0
    package var requestBodyBeforeEncoding: Int64 = 0
    package var responseHeader: Int64 = 0
    package var responseBody: Int64 = 0
    package var responseBodyAfterDecoding: Int64 = 0

    package init() {}
  }

  package var url: String
  package var method: String
  package var headers: [HeaderField]
  package var response: ResponseSummary?
  package var source: Source
  package var times = Times()
  package var connection = Connection()
  package var bytes = ByteCounts()

  package init(url: String, method: String, headers: [HeaderField], source: Source) {
    self.url = url
    self.method = method
    self.headers = headers
    self.source = source
  }
}
