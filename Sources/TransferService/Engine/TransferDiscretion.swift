import Foundation
import SystemServices
import TransferProtocol

/// The facts by which a transfer is found to be one that can wait, or that lets other traffic go first.
struct TransferDiscretion: Sendable, Equatable {
  enum Cause: Sendable, Equatable {
    /// The session's configuration says so.
    case configuration
    /// The app made it while the service had the app running in the background.
    case madeInBackground
  }

  /// nil: it never waits.
  private(set) var cause: Cause?
  private let isMadeInBackground: Bool
  /// `NSURLRequest.NetworkServiceType`, of the request and of its session; nil and 0: the default.
  private var serviceType: UInt?
  private var sessionServiceType: UInt?
  /// The app's hints; -1 where it gave none.
  private var hintedToSend: Int64 = -1
  private var hintedToReceive: Int64 = -1
  /// nil for a download.
  private(set) var upload: Upload?
  /// It was too slow, and is not tried before.
  var pausedUntil: BootInstant?
  /// Measures the present run.
  var throughput: ThroughputWatch?

  /// The file that an upload sends.
  struct Upload: Sendable, Equatable {
    /// nil where the file could not be read.
    let size: Int64?
    /// Bytes from the first on that the server keeps for a later try.
    var kept: Int64
  }

  init(_ stored: StoredTransfer, options: SessionOptions) {
    let description = stored.description
    if description.kind == .upload {
      let size = stored.upload.flatMap { $0.size >= 0 ? $0.size : nil }
      upload = Upload(size: size, kept: stored.upload?.place?.acknowledged ?? 0)
    }
    isMadeInBackground = description.isMadeInBackground == true
    take(description)
    take(options)
  }

  /// The app has changed its hints.
  mutating func take(_ description: TransferDescription) {
    hintedToSend = description.countOfBytesClientExpectsToSend
    hintedToReceive = description.countOfBytesClientExpectsToReceive
    serviceType = description.request.networkServiceType
  }

  /// The server keeps so much of an upload.
  mutating func serverKeeps(_ bytes: KeptBytes) { upload?.kept = bytes.count }

  /// Bytes still to come and to go; nil when they are not known. The size of an upload's file is known, and its answer counts
  /// where the app says how long it is.
  /// - Parameters:
  ///   - received: bytes that are there.
  ///   - total: as the server announced it; -1 when it did not.
  func bytesLeft(received: Int64, of total: Int64) -> Int64? {
    if let upload {
      return upload.size.map { max(0, $0 - upload.kept).saturatingAdd(max(0, hintedToReceive)) }
    }
    let hints = [hintedToSend, hintedToReceive].filter { $0 >= 0 }
    let hinted: Int64? = hints.isEmpty ? nil : hints.reduce(0) { $0.saturatingAdd($1) }
    return (total >= 0 ? total : hinted).map { max(0, $0 - received) }
  }

  /// The session has these options from now on.
  mutating func take(_ options: SessionOptions) {
    cause = options.isDiscretionary == true ? .configuration : isMadeInBackground ? .madeInBackground : nil
    sessionServiceType = options.networkServiceType
  }

  /// Whether it can wait. An app that comes to the foreground promotes what it made in the background.
  func applies(inForeground: Bool) -> Bool {
    switch cause {
    case .configuration: true
    case .madeInBackground: !inForeground
    case nil: false
    }
  }
  /// Whether other traffic goes first: of what can wait, and of what its app calls traffic that the user does not wait for.
  func yields(inForeground: Bool) -> Bool {
    if applies(inForeground: inForeground) { return true }
    let own = serviceType ?? 0
    return (own == 0 ? sessionServiceType : own) == Self.backgroundServiceType
  }

  /// `NSURLRequest.NetworkServiceType.background`
  private static let backgroundServiceType: UInt = 3
}
