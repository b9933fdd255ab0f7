import Foundation

/// A URL request. nil means the default of the session.
///
/// The library that makes messages of requests has one list of these properties for both ways
/// (`RequestDescription+URLRequest.swift`). Queues and resume data hold descriptions of older versions, so a new property
/// is optional.
package struct RequestDescription: Codable, Sendable, Equatable {
  /// The largest body that may travel in a message.
  package static let maximumBodyLength = 1024 * 1024

  package var url: String
  package var method: String
  package var headers: [HeaderField]
  package var body: Data?
  package var timeoutInterval: Double?
  package var cachePolicy: UInt?
  package var networkServiceType: UInt?
  package var allowsCellularAccess: Bool?
  package var allowsExpensiveNetworkAccess: Bool?
  package var allowsConstrainedNetworkAccess: Bool?
  package var allowsUltraConstrainedNetworkAccess: Bool?
  package var assumesHTTP3Capable: Bool?
  package var requiresDNSSECValidation: Bool?
  package var allowsPersistentDNS: Bool?
  package var httpShouldHandleCookies: Bool?
  package var httpShouldUsePipelining: Bool?
  package var cookiePartitionIdentifier: String?
  package var mainDocumentURL: String?
  package var attribution: UInt?
  /// The properties that `URLProtocol.setProperty` set on the request, as a property list.
  package var protocolProperties: Data?

  package init(url: String, method: String = "GET", headers: [HeaderField] = [], body: Data? = nil) {
    self.url = url
    self.method = method
    self.headers = headers
    self.body = body
  }
}
