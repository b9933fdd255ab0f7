import Foundation

extension URLSessionConfiguration {
  /// The older form of `tlsMinimumSupportedProtocolVersion`; the two are one setting.
  public var tlsMinimumSupportedProtocol: SSLProtocol {
    get { SSLProtocol(tlsMinimumSupportedProtocolVersion) }
    set { tlsMinimumSupportedProtocolVersion = newValue.oldestVersion }
  }

  /// The older form of `tlsMaximumSupportedProtocolVersion`; the two are one setting.
  public var tlsMaximumSupportedProtocol: SSLProtocol {
    get { SSLProtocol(tlsMaximumSupportedProtocolVersion) }
    set { tlsMaximumSupportedProtocolVersion = newValue.newestVersion }
  }
}
