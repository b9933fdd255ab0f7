import Foundation
import HTTPTransport
import Logging
import NIOPosix
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

  /// - Parameters:
  ///   - pool: where files are written; it has to be running.
  ///   - networks: says what the machine's networks are.
  ///   - trustRoots: the authorities that secure servers are judged by.
  package init(
    store: TransferStore, files: TransferFiles, pool: NIOThreadPool, log: Logger,
    networks: any NetworkDescribing = SystemNetworks.shared,
    trustRoots: TransportConfiguration.TrustRoots = .system
  ) {
    self.store = store
    self.files = files
    self.pool = pool
    self.log = log
    environments = LoadingEnvironments { options in
      let configuration = options.makeConfiguration()
      configuration.trustRoots = trustRoots
      configuration.networks = networks
      // Transfers of several apps may share an environment, and must not share cookies.
      configuration.httpCookieStorage = nil
      // A transfer without a network gives its turn to another one; the scheduler waits for the network.
      configuration.waitsForConnectivity = false
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
    let environment = environments.take(for: job.options)
    let context = LoadContext(
      for: url, configuration: environment.configuration, transport: environment.transport, client: DownloadClient())
    let run = DownloadRun(job, url: url, runner: self, context: context, report: report)
    run.start { [environments] outcome in
      environments.release(job.options)
      ended(outcome)
    }
    return run
  }

  package func shutDown() { environments.shutDown() }

  func failpoint(_ point: Failpoint) { point.pass(state: files.directory) }
  func isArmed(_ point: Failpoint) -> Bool { point.isArmed(state: files.directory) }
}

extension DownloadRun: DownloadStopping {}

/// Follows redirects and passes interim responses over: the defaults.
private final class DownloadClient: LoadClient {}

private struct EndedDownload: DownloadStopping {
  func stop() {}
}
