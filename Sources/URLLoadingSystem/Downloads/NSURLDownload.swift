import Dispatch
import Foundation
import HTTPSemantics
import Synchronization

/// One load to a file of the app's choice, which can be decoded on the way: the API before
/// `URLSessionDownloadTask`.
///
/// A download begins when it is made, and reports to its delegate on the run loop of the thread that made it. It keeps
/// itself and its delegate until `downloadDidFinish(_:)` or `download(_:didFailWithError:)` has returned, or until it is
/// cancelled. Nothing of it is cached.
@available(*, deprecated, message: "Use URLSessionDownloadTask.")
open class NSURLDownload: NSObject, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: what changes is behind a lock.

  private enum Phase { case running, cancelled, over }

  private struct State {
    var phase = Phase.running
    var delegate: DownloadDelegate?
    var context: LoadContext?
    var destination: DownloadPlace?
    /// Waits for the destination.
    var receiver: (@Sendable (DownloadPlace) -> Void)?
    var deletesFileUponFailure = true
    var resumeData: Data?
    var hasCancelledChallenge = false
  }

  private let original: URLRequest
  private let delivery = ScheduledDelivery()
  let lane: DeliveryLane
  private let state: Mutex<State>
  /// Left when the load, its files included, is over.
  private let work = DispatchGroup()

  // MARK: Making downloads

  /// Begins to load `request`. `delegate` is kept until the download is over; with nil the destination is to be set.
  @available(*, deprecated, message: "Use URLSession.downloadTask(with:) and resume().")
  public init(request: URLRequest, delegate: (any NSURLDownloadDelegate)?) {
    (original, lane) = (request, DeliveryLane(to: delivery))
    state = Mutex(State(delegate: DownloadDelegate(delegate)))
    super.init()
    begin(.whole, in: .shared)
  }

  /// Goes on with a download that was cancelled or failed, and whose file was kept.
  ///
  /// The rest is asked for on the condition that the resource is unchanged; else the file is written anew. Resume data
  /// that is damaged fails the download with `URLError.unsupportedURL`, a file that is gone or was changed with
  /// `URLError.cannotOpenFile`. When the server can't be asked, or its answer is an error, the file stays as it is if
  /// `deletesFileUponFailure` is false.
  /// - Parameters:
  ///   - resumeData: That of the earlier download.
  ///   - delegate: Kept until the download is over. nil for none.
  ///   - path: The partial file.
  @available(*, deprecated, message: "Use URLSession.downloadTask(withResumeData:) and resume().")
  public convenience init(resumeData: Data, delegate: (any NSURLDownloadDelegate)?, path: String) {
    self.init(resumeData: resumeData, delegate: delegate, path: path, in: .shared)
  }

  init(request: URLRequest, delegate: (any NSURLDownloadDelegate)?, in sessions: ConnectionSessions) {
    (original, lane) = (request, DeliveryLane(to: delivery))
    state = Mutex(State(delegate: DownloadDelegate(delegate)))
    super.init()
    begin(.whole, in: sessions)
  }

  init(resumeData: Data, delegate: (any NSURLDownloadDelegate)?, path: String, in sessions: ConnectionSessions) {
    let start = DownloadStart(resumeData, path: path)
    (original, lane) = (start.request ?? URLRequest(), DeliveryLane(to: delivery))
    state = Mutex(State(delegate: DownloadDelegate(delegate)))
    super.init()
    begin(start, in: sessions)
  }

  private func begin(_ start: DownloadStart, in sessions: ConnectionSessions) {
    delivery.schedule(in: .current, forMode: .default)
    let delegate = state.withLock { $0.delegate }?.base
    let storesCredentials = delegate?.downloadShouldUseCredentialStorage(self) ?? true
    let session = storesCredentials ? sessions.stored : sessions.unstored
    guard let engine = session.engine as? LoadingEngine else { return }
    let load = DownloadLoad(self, of: original, from: start, hasDelegate: delegate != nil, in: session)
    let context = engine.makeContext(for: original.url, client: load)
    let isWanted = state.withLock { state in
      state.context = context
      return state.phase == .running
    }
    // Cancelled by the delegate meanwhile.
    guard isWanted else { return }
    work.enter()
    context.start { [work] in
      await load.run(in: $0)
      work.leave()
    }
  }

  // MARK: Properties

  /// The request the download was made with; with resume data, the one of the earlier download.
  open var request: URLRequest { original }

  /// Whether the file is removed when the download fails or is cancelled. Default true. Set it to false early to be able
  /// to resume.
  open var deletesFileUponFailure: Bool {
    get { state.withLock { $0.deletesFileUponFailure } }
    set { state.withLock { $0.deletesFileUponFailure = newValue } }
  }

  /// The data that a later download needs to go on, once this one was cancelled or has failed. nil when none can: there is
  /// no file, the file was decoded, or the server said nothing by which the rest can be asked for. After `cancel()` it
  /// waits until the bytes that have come are in the file.
  open var resumeData: Data? {
    if state.withLock({ $0.phase == .cancelled }) { work.wait() }
    return state.withLock { $0.resumeData }
  }

  /// Whether a download that is decoded from this encoding can be resumed. False for gzip, MacBinary and BinHex.
  open class func canResumeDownloadDecoded(withEncodingMIMEType MIMEType: String) -> Bool {
    FileEncoding(mediaType: MIMEType) == nil
  }

  // MARK: Control

  /// Names the file. The first call counts.
  /// - Parameters:
  ///   - path: Its folder must be there.
  ///   - allowOverwrite: true: a file that is there is replaced by a new one when the first byte is about to come. A
  ///     symbolic link is replaced itself; the file that it leads to stays as it is. A folder or a device is not replaced:
  ///     the download fails. false: a number is added to the name, `a-1.txt`.
  open func setDestination(_ path: String, allowOverwrite: Bool) {
    let place = DownloadPlace(path: path, isReplaced: allowOverwrite)
    let receiver = state.withLock { state -> (@Sendable (DownloadPlace) -> Void)? in
      guard state.destination == nil else { return nil }
      state.destination = place
      defer { state.receiver = nil }
      return state.receiver
    }
    receiver?(place)
  }

  /// Stops the download and releases the delegate, which is told nothing more. The file is removed unless
  /// `deletesFileUponFailure` is false. No effect on a download that is over.
  open func cancel() {
    let old = finish(.cancelled)
    guard old.phase == .running else { return }
    delivery.close()
    old.context?.control.abort(ErrorMapping.cancelled)
  }

  /// Nothing is told from now on. Returns what the download held, to be released outside the lock.
  private func finish(_ phase: Phase) -> State {
    state.withLock { state in
      let old = state
      guard state.phase == .running else { return old }
      state.phase = phase
      state.delegate = nil
      state.receiver = nil
      state.context = nil
      return old
    }
  }

  // MARK: For the load

  /// Runs `call` with the delegate; nil, and nothing is run, without one and once the download is over.
  func tell<Value>(_ call: (any NSURLDownloadDelegate) -> Value) -> Value? {
    let delegate = state.withLock { $0.phase == .running ? $0.delegate : nil }
    return delegate?.base.map(call)
  }

  /// Runs `call`, which is the last, with the delegate.
  func end(_ call: (any NSURLDownloadDelegate) -> Void) {
    let old = finish(.over)
    if old.phase == .running, let delegate = old.delegate?.base { call(delegate) }
    delivery.close()
  }

  /// The end of a load that failed.
  func fail(with error: URLError) {
    let hasCancelledChallenge = state.withLock { $0.hasCancelledChallenge }
    end { $0.download(self, didFailWithError: error.ofConnection(hasCancelledChallenge)) }
  }

  func keep(_ resumeData: Data?) { state.withLock { $0.resumeData = resumeData } }

  /// The app has cancelled `challenge`: the delegate is told before the load fails.
  func cancelled(_ challenge: URLAuthenticationChallenge) {
    state.withLock { $0.hasCancelledChallenge = true }
    lane.append { [self] in
      _ = tell { $0.download(self, didCancel: challenge) }
    }
  }

  /// Gives `receiver` the destination, and asks the delegate for it where the app has not set it.
  func askForDestination(_ filename: String, _ receiver: @escaping @Sendable (DownloadPlace) -> Void) {
    let place = state.withLock { state in
      if state.destination == nil, state.phase == .running { state.receiver = receiver }
      return state.destination
    }
    if let place { return receiver(place) }
    _ = tell { $0.download(self, decideDestinationWithSuggestedFilename: filename) }
  }
}
