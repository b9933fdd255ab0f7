import NIOCore
import NIOSSL

/// How a loopback server speaks TLS.
package struct ServerTLS: Sendable {
  /// What a server asks of its clients' certificates.
  package enum ClientCertificates: Sendable {
    case ignored
    /// Asks for one; a client without one is served too, one with a wrong one is not.
    case requested
    /// Serves only clients whose certificate the test authority signed.
    case required
  }

  package var identity: TestCertificates.Identity
  /// Protocols offered by ALPN, the preferred one first.
  package var applicationProtocols = ["http/1.1"]
  package var clientCertificates = ClientCertificates.ignored
  package var minimumVersion = TLSVersion.tlsv12
  package var maximumVersion: TLSVersion?
  /// The suites up to TLS 1.2, as OpenSSL names them; nil for the usual ones.
  package var cipherSuites: String?
  /// Whether clients reach the server over HTTP/3 alone, by way of ``HTTP3Front``.
  package var isBehindHTTP3 = false
  /// Gets the host name of every client hello (SNI); nil for a client that names none.
  package var serverNames: Recorder<String?>?

  package init(_ identity: TestCertificates.Identity) {
    self.identity = identity
  }

  /// TLS with the test authority's certificate for localhost, 127.0.0.1 and ::1.
  package static func localhost() throws -> ServerTLS {
    ServerTLS(try TestCertificates.shared().localhost)
  }

  func makeContext() throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificateFile).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.keyFile, format: .pem)))
    configuration.applicationProtocols = applicationProtocols
    configuration.minimumTLSVersion = minimumVersion
    configuration.maximumTLSVersion = maximumVersion
    if let cipherSuites { configuration.cipherSuites = cipherSuites }
    configuration.trustRoots = .file(identity.authorityFile)
    switch clientCertificates {
    case .ignored: break
    case .requested:
      configuration.certificateVerification = .optionalVerification
      configuration.sendCANameList = true
    case .required:
      configuration.certificateVerification = .noHostnameVerification
      configuration.sendCANameList = true
    }
    if let serverNames {
      configuration.sslContextCallback = { hello, promise in
        serverNames.record(hello.serverHostname)
        promise.succeed(.noChanges)
      }
    }
    return try NIOSSLContext(configuration: configuration)
  }
}
