import Foundation
import HTTPTransport
import Logging
import NIOPosix
import Synchronization
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// Runs downloads: holds what all tries share.
package final class DownloadRunner: Sendable {
  let store: TransferStore
  let files: TransferFiles
  let pool: NIOThreadPool
  let log: Logger
  private let environments: LoadingEnvironments
  /// The credentials that opened spaces, by session: they outlive the sessions' environments.
  private let credentials = Mutex<[SessionID: URLCredentialStorage]>([:])
  private let makeCredentials: @Sendable () -> URLCredentialStorage

  /// - Parameters:
  ///   - pool: where files are written; it has to be running.
  ///   - networks: says what the machine's networks are.
  ///   - trustRoots: the authorities that secure servers are judged by where an app names none.
  ///   - makeCredentials: makes the storage of a session.
  package init(
    store: TransferStore, files: TransferFiles, pool: NIOThreadPool, log: Logger,
    networks: any NetworkDescribing = SystemNetworks.shared,
    trustRoots: TransportConfiguration.TrustRoots = .system,
    makeCredentials: @escaping @Sendable () -> URLCredentialStorage = { URLCredentialStorage() }
  ) {
    self.store = store
    self.files = files
    self.pool = pool
    self.log = log
    self.makeCredentials = makeCredentials
    environments = LoadingEnvironments { options, credentials in
      let configuration = options.makeConfiguration()
      if options.certificateAuthorities == nil { configuration.trustRoots = trustRoots }
      configuration.networks = networks
      // Each try of a transfer has cookies of its own.
      configuration.httpCookieStorage = nil
      // A transfer without a network gives its turn to another one; the scheduler waits for the network.
      configuration.waitsForConnectivity = false
      configuration.urlCredentialStorage = credentials
      return configuration.loadConfiguration
    }
  }

  /// Starts a try. `ended` is called once, on any thread; `report` before that, in order.
  package func start(
    _ job: DownloadJob, report: @escaping @Sendable (DownloadReport) -> Void,
    ended: @escaping @Sendable (DownloadOutcome) -> Void
  ) -> any DownloadStopping {
    guard let url = job.url else {
      let failure = TransferFailure(
        ErrorMapping.make(.unsupportedURL, because: "Background transfers load http and https URLs only."),
        url: job.request.url)
      ended(.failed(failure, nil, received: 0))
      return EndedDownload()
    }
    let credentials = credentials(of: job.session)
    let environment = environments.take(for: job.options, of: job.session, credentials)
    let client = ServiceLoadClient(job, credentials: credentials, report: report)
    var configuration = environment.configuration
    configuration.cookies = job.options.httpShouldSetCookies == false ? nil : LoadCookies(of: job.urlRequest(url))
    let context = LoadContext(
      for: url, configuration: configuration, transport: environment.transport, client: client)
    let run = DownloadRun(job, url: url, runner: self, context: context, report: report)
    run.start { [environments] outcome in
      environments.release(job.options, of: job.session)
      ended(outcome)
    }
    return run
  }

  private func credentials(of session: SessionID) -> URLCredentialStorage {
    credentials.withLock { credentials in
      if let known = credentials[session] { return known }
      let made = makeCredentials()
      credentials[session] = made
      return made
    }
  }

  package func forget(_ session: SessionID) {
    credentials.withLock { $0[session] = nil }
    environments.forget(session)
  }

  package func shutDown() { environments.shutDown() }

  func failpoint(_ point: Failpoint) { point.pass(state: files.directory) }
  func isArmed(_ point: Failpoint) -> Bool { point.isArmed(state: files.directory) }
}

extension DownloadRun: DownloadStopping {}

private struct EndedDownload: DownloadStopping {
  func stop() {}
}
