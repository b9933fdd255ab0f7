import Foundation
import LoopbackServer
import URLLoadingSystem

extension URLSessionConfiguration {
  /// An ephemeral one that trusts the loopback servers' certificates.
  package static var loopback: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    if let file = try? TestCertificates.shared().authorityFile { configuration.trustRoots = .file(file) }
    if WireVersion.current == .http3 {
      configuration.assumesHTTP3 = true
      // Nothing answers over TCP.
      configuration.http3HeadStart = .seconds(60)
    }
    return configuration
  }
}
