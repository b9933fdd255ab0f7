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
  /// nil where no journals are kept.
  let journals: JournalKeeper?
  /// Gives back the memory of code that has run; nil where that is kept.
  let releasesMemory: (@Sendable () -> Void)?
  private let environments: LoadingEnvironments
  /// The credentials that opened spaces, by session: they outlive the sessions' environments.
  private let credentials = Mutex<[SessionID: URLCredentialStorage]>([:])
  private let sources = Mutex<NIOThreadPool?>(nil)
  private let makeCredentials: @Sendable () -> URLCredentialStorage

  /// - Parameters:
  ///   - pool: where files are written; it has to be running.
  ///   - networks: says what the machine's networks are.
  ///   - trustRoots: the authorities that secure servers are judged by where an app names none.
  ///   - releasesMemory: called on the pool when a large body begins, to give back the memory of code that has run.
  ///   - makeCredentials: makes the storage of a session.
  init(
    store: TransferStore, files: TransferFiles, pool: NIOThreadPool, log: Logger, journals: JournalKeeper? = nil,
    releasesMemory: (@Sendable () -> Void)? = nil,
    networks: any NetworkDescribing = SystemNetworks.shared,
    trustRoots: TransportConfiguration.TrustRoots = .system,
    makeCredentials: @escaping @Sendable () -> URLCredentialStorage = { URLCredentialStorage() }
  ) {
    self.store = store
    self.files = files
    self.pool = pool
    self.log = log
    self.journals = journals
    self.releasesMemory = releasesMemory
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
    journals?.prepare(job.request, job.options)
    let credentials = credentials(of: job.session)
    let environment = environments.take(for: job.options, of: job.session, credentials)
    let client = ServiceLoadClient(job, credentials: credentials, report: report)
    var configuration = environment.configuration
    // The app may have come to know hosts since the last try.
    configuration.hsts?.readAgain()
    configuration.cookies =
      job.options.httpShouldSetCookies == false ? nil : LoadCookies(of: job.urlRequest(url, in: configuration))
    let context = LoadContext(
      for: url, configuration: configuration, transport: environment.transport, client: client)
    let run = DownloadRun(job, url: url, runner: self, context: context, report: report)
    client.sending = run.sending
    client.pacing = run.pacing
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

  /// Throws `SpaceReckoning.Shortage` where the disk has too little beside what the other runs and copies have claimed. Blocks.
  func claimSpace(_ needed: Int64, for transfer: TransferID) throws {
    let free = try files.disk.freeSpace(at: files.partialDirectory)
    if let shortage = files.space.claim(needed, for: transfer, free: free) { throw shortage }
  }

  func wrote(_ transfer: TransferID, rest: Int64) { files.space.wrote(transfer, rest: rest) }

  func releaseSpace(of transfer: TransferID) { files.space.release(transfer) }

  package func unclaimed(of free: Int64) -> Int64 { files.space.available(of: free) }

  /// Threads that read the files of apps of which there is no copy that can be used, and nothing else: a file system that hangs
  /// keeps them.
  var sourcePool: NIOThreadPool {
    sources.withLock { pool in
      if let pool { return pool }
      let made = NIOThreadPool(numberOfThreads: 4)
      made.start()
      pool = made
      return made
    }
  }

  /// Called when no run is under way any more. Returns when no journal is being written.
  package func shutDown() {
    environments.shutDown()
    journals?.drain()
    // A thread that hangs is not waited for.
    sources.withLock { $0.take() }?.shutdownGracefully { _ in }
  }

  func failpoint(_ point: Failpoint) { point.pass(state: files.directory) }
  func isArmed(_ point: Failpoint) -> Bool { point.isArmed(state: files.directory) }
}

extension DownloadRun: DownloadStopping {}

private struct EndedDownload: DownloadStopping {
  func stop() {}
  func stopIfRepeatable() {}
}
