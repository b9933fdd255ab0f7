import Foundation

/// A protection space, as `URLProtectionSpace` has it.
package struct ProtectionSpaceDescription: Codable, Sendable, Hashable {
  package var host: String
  package var port: Int
  /// nil for a proxy.
  package var scheme: String?
  /// nil for a server.
  package var proxyType: String?
  package var realm: String?
  package var authenticationMethod: String
  /// The authorities that the server accepts, as DER names, where it wants a certificate.
  package var distinguishedNames: [Data]?
  /// The server's certificates as DER, its own first, where they are to be judged.
  package var certificates: [Data]?

  package init(host: String, port: Int, authenticationMethod: String) {
    self.host = host
    self.port = port
    self.authenticationMethod = authenticationMethod
  }
}
