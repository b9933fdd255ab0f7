import Foundation
import HTTPSemantics
import HTTPTransport
import Logging
import NIOPosix
import Synchronization
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// Runs downloads: holds what all tries share, the connections among it.
package final class DownloadRunner: Sendable {
  let store: TransferStore
  let files: TransferFiles
  let pool: NIOThreadPool
  let log: Logger
  private let networks: any NetworkDescribing
  private let trustRoots: TransportConfiguration.TrustRoots
  private let transports = Mutex<[TransportKey: HTTPTransport]>([:])

  /// Sessions that agree on these share connections.
  private struct TransportKey: Hashable {
    let minimumTLS: UInt16?
    let maximumTLS: UInt16?
    let perHost: Int?
    let appTransportSecurity: String?
  }

  /// - Parameters:
  ///   - pool: where files are written; it has to be running.
  ///   - networks: who knows what the machine's networks are.
  ///   - trustRoots: whom secure servers are judged by.
  package init(
    store: TransferStore, files: TransferFiles, pool: NIOThreadPool, log: Logger,
    networks: any NetworkDescribing = SystemNetworks.shared,
    trustRoots: TransportConfiguration.TrustRoots = .system
  ) {
    self.store = store
    self.files = files
    self.pool = pool
    self.log = log
    self.networks = networks
    self.trustRoots = trustRoots
  }

  /// Starts a try. `ended` is called once, on whatever thread; `report` before that, in order.
  package func start(
    _ job: DownloadJob, report: @escaping @Sendable (DownloadReport) -> Void,
    ended: @escaping @Sendable (DownloadOutcome) -> Void
  ) -> any DownloadStopping {
    guard let url = job.url else {
      let failure = TransferFailure(
        domain: NSURLErrorDomain, code: URLError.Code.unsupportedURL.rawValue,
        message: "Background transfers load http and https URLs only.", url: job.request.url)
      ended(.failed(failure, nil, received: 0))
      return NothingToStop()
    }
    let configuration = loadConfiguration(job.options)
    let transport = transport(for: job.options, configuration)
    let context = LoadContext(for: url, configuration: configuration, transport: transport, client: QuietClient())
    let run = DownloadRun(job, url: url, runner: self, context: context, report: report)
    run.start(ended)
    return run
  }

  package func shutDown() {
    for transport in transports.withLock({ $0.values.map { $0 } }) { transport.shutDown() }
  }

  func failpoint(_ point: Failpoint) { point.pass(state: files.directory) }
  func isArmed(_ point: Failpoint) -> Bool { point.isArmed(state: files.directory) }

  private func transport(for options: SessionOptions, _ configuration: LoadConfiguration) -> HTTPTransport {
    let key = TransportKey(
      minimumTLS: options.tlsMinimumSupportedProtocolVersion, maximumTLS: options.tlsMaximumSupportedProtocolVersion,
      perHost: options.httpMaximumConnectionsPerHost, appTransportSecurity: options.appTransportSecurity)
    return transports.withLock { transports in
      if let transport = transports[key] { return transport }
      let transport = HTTPTransport(configuration: configuration.transport)
      transports[key] = transport
      return transport
    }
  }

  private func loadConfiguration(_ options: SessionOptions) -> LoadConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.trustRoots = trustRoots
    if let count = options.httpMaximumConnectionsPerHost { configuration.httpMaximumConnectionsPerHost = count }
    if let version = options.tlsMinimumSupportedProtocolVersion.flatMap({ tls_protocol_version_t(rawValue: $0) }) {
      configuration.tlsMinimumSupportedProtocolVersion = version
    }
    if let version = options.tlsMaximumSupportedProtocolVersion.flatMap({ tls_protocol_version_t(rawValue: $0) }) {
      configuration.tlsMaximumSupportedProtocolVersion = version
    }
    configuration.allowsCellularAccess = options.allowsCellularAccess ?? true
    configuration.allowsExpensiveNetworkAccess = options.allowsExpensiveNetworkAccess ?? true
    configuration.allowsConstrainedNetworkAccess = options.allowsConstrainedNetworkAccess ?? true
    if let type = options.networkServiceType.flatMap({ URLRequest.NetworkServiceType(rawValue: $0) }) {
      configuration.networkServiceType = type
    }
    // The service's own bundle has nothing to say about what its clients may do.
    configuration.appTransportSecurity = options.appTransportSecurity.map { AppTransportSecurity(json: $0) }
    if let policy = options.requestCachePolicy.flatMap({ URLRequest.CachePolicy(rawValue: $0) }) {
      configuration.requestCachePolicy = policy
    }
    configuration.connectionProxyDictionary = options.connectionProxyDictionary.flatMap(ProxyDictionaryText.dictionary)
    configuration.proxyEnvironment = options.proxyEnvironment
    configuration.networks = networks
    var load = configuration.loadConfiguration
    load.additionalHeaders = options.additionalFields
    return load
  }
}

/// A try that can be told to stop.
package protocol DownloadStopping: Sendable {
  func stop()
}

extension DownloadRun: DownloadStopping {}

/// A background transfer has no opinion on what a load asks: redirects are followed, interim responses passed over.
private final class QuietClient: LoadClient {}

private struct NothingToStop: DownloadStopping {
  func stop() {}
}
