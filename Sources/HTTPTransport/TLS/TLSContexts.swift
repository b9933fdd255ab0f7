import NIOConcurrencyHelpers
import NIOSSL

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The TLS settings of a session, made when its first secure connection needs them: reading the system's store of
/// certificate authorities takes milliseconds and memory that a plain HTTP session never spends.
final class TLSContexts: Sendable {
  private let configuration: TransportConfiguration
  private let context = NIOLockedValueBox<NIOSSLContext?>(nil)

  init(configuration: TransportConfiguration) { self.configuration = configuration }

  func clientContext() throws -> NIOSSLContext {
    try context.withLockedValue { cached in
      if let cached { return cached }
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.minimumTLSVersion = configuration.minimumTLSVersion
      tls.maximumTLSVersion = configuration.maximumTLSVersion
      tls.applicationProtocols = ["http/1.1"]
      tls.trustRoots = trustRoots()
      let made = try NIOSSLContext(configuration: tls)
      cached = made
      return made
    }
  }

  /// SSL_CERT_FILE and SSL_CERT_DIR name another store, as for every program over OpenSSL.
  private func trustRoots() -> NIOSSLTrustRoots {
    switch configuration.trustRoots {
    case .file(let path): return .file(path)
    case .system:
      for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let value = getenv(name), value.pointee != 0 { return .file(String(cString: value)) }
      }
      return .default
    }
  }
}
