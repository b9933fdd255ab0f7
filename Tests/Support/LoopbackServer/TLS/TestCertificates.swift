import Foundation

/// Certificates for tests, made when first asked for with the `openssl` program, once a process, in a temporary folder
/// that is removed when the process exits.
///
/// All keys are EC P-256. No system trusts the authority: a client under test is given ``authorityFile``.
package final class TestCertificates: Sendable {
  /// A certificate with its key, as PEM files.
  package struct Identity: Sendable {
    package let certificateFile: String
    package let keyFile: String
    /// The certificate of the test authority.
    package let authorityFile: String
  }

  package let folder: String
  /// The test authority's own certificate (PEM).
  package let authorityFile: String
  /// Good for localhost, 127.0.0.1 and ::1.
  package let localhost: Identity
  /// For the same names, signed by an intermediate authority; the file holds the chain.
  package let chained: Identity
  /// The same leaf without its intermediate: a server that forgot to send the chain.
  package let incompleteChain: Identity
  /// For the same names, but its time is over.
  package let expired: Identity
  /// For the same names, but its time has not come.
  package let notYetValid: Identity
  /// Good, but for wrong.example.
  package let wrongHost: Identity
  /// Good for `*.loopback.example`.
  package let wildcard: Identity
  /// For the right names, but signed by itself.
  package let selfSigned: Identity
  /// For the right names, by an authority that is not trusted; the file holds that authority's certificate too.
  package let foreign: Identity
  /// For localhost only by its common name.
  package let commonNameOnly: Identity
  /// For the right names, but meant for clients.
  package let clientForLocalhost: Identity
  /// A client's certificate of the same authority, for `CN=Test Client`.
  package let client: Identity
  /// The same as PKCS #12, locked with ``clientPassphrase``.
  package let clientPKCS12File: String
  package let clientPassphrase = "loopback"

  private static let made = Result { try TestCertificates() }

  /// The certificates of this process; makes them the first time, which takes some tenths of a second. Throws
  /// ``OpenSSLFailure`` when the `openssl` program is missing or fails.
  package static func shared() throws -> TestCertificates {
    try made.get()
  }

  private init() throws {
    let openssl = try OpenSSLTool()
    let day: TimeInterval = 86_400
    let names = "DNS:localhost,IP:127.0.0.1,IP:::1"
    folder = openssl.folder
    authorityFile = openssl.path("authority.pem")
    try openssl.makeAuthority("authority", name: "Loopback Test Authority", signedBy: nil)
    try openssl.makeAuthority("intermediate", name: "Loopback Test Intermediate", signedBy: "authority")
    func leaf(
      _ file: String, names: String = names, by authority: String = "authority", from: TimeInterval = -day,
      until: TimeInterval = 30 * day
    ) throws -> Identity {
      try openssl.makeLeaf(
        file, name: "Loopback \(file)", alternativeNames: names, usage: "serverAuth", signedBy: authority,
        from: Date(timeIntervalSinceNow: from), until: Date(timeIntervalSinceNow: until))
      return openssl.identity(file)
    }
    localhost = try leaf("localhost")
    incompleteChain = try leaf("chained-leaf", by: "intermediate")
    try openssl.concatenate(["chained-leaf.pem", "intermediate.pem"], into: "chained.pem")
    chained = Identity(
      certificateFile: openssl.path("chained.pem"), keyFile: incompleteChain.keyFile, authorityFile: authorityFile)
    expired = try leaf("expired", from: -60 * day, until: -day)
    notYetValid = try leaf("not-yet-valid", from: day)
    wrongHost = try leaf("wrong-host", names: "DNS:wrong.example")
    wildcard = try leaf("wildcard", names: "DNS:*.loopback.example")
    try openssl.makeSelfSigned("self-signed", alternativeNames: names)
    selfSigned = openssl.identity("self-signed")
    try openssl.makeAuthority("stranger", name: "Loopback Stranger", signedBy: nil)
    let foreignLeaf = try leaf("foreign-leaf", by: "stranger")
    try openssl.concatenate(["foreign-leaf.pem", "stranger.pem"], into: "foreign.pem")
    foreign = Identity(
      certificateFile: openssl.path("foreign.pem"), keyFile: foreignLeaf.keyFile, authorityFile: authorityFile)
    try openssl.makeLeaf(
      "common-name", name: "localhost", alternativeNames: "email:server@loopback.example", usage: "serverAuth",
      signedBy: "authority", from: Date(timeIntervalSinceNow: -day), until: Date(timeIntervalSinceNow: 30 * day))
    commonNameOnly = openssl.identity("common-name")
    try openssl.makeLeaf(
      "client-server", name: "Loopback client", alternativeNames: names, usage: "clientAuth", signedBy: "authority",
      from: Date(timeIntervalSinceNow: -day), until: Date(timeIntervalSinceNow: 30 * day))
    clientForLocalhost = openssl.identity("client-server")
    try openssl.makeLeaf(
      "client", name: "Test Client", alternativeNames: "email:client@loopback.example", usage: "clientAuth",
      signedBy: "authority", from: Date(timeIntervalSinceNow: -day), until: Date(timeIntervalSinceNow: 30 * day))
    client = openssl.identity("client")
    clientPKCS12File = openssl.path("client.p12")
    try openssl.exportPKCS12("client", passphrase: clientPassphrase)
  }

  /// A PKCS #12 file of the client with `-nokeys` or `-nocerts`, locked with ``clientPassphrase``.
  package func halfPKCS12(_ without: String) throws -> Data {
    let openssl = try OpenSSLTool()
    return try openssl.exportHalfPKCS12("client", without: without, passphrase: clientPassphrase)
  }
}
