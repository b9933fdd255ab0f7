import Crypto
import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// One try at one download: what is wanted, and what is on the disk from the tries before.
package struct DownloadJob: Sendable {
  package var id: TransferID
  package var request: RequestDescription
  package var options: SessionOptions
  package var priority: Float
  /// Bytes that are surely on the disk, of the representation below.
  package var committedOffset: Int64
  package var response: ResponseSummary?
  package var validator: ResumeValidator?
  /// -1 when it is not known.
  package var expectedTotal: Int64
  /// Seconds that are left of the time for the whole resource.
  package var remainingTime: TimeInterval
  /// Failures in a row before this try.
  package var failures: Int
  /// Those of them, the last ones, that may or may not pass (`RetryRule.isDoubtful`).
  package var doubtfulFailures = 0
  /// Whether a process of the app waits for the end.
  package var isAttended = true
  /// How many bytes have counted as progress before this try.
  package var countedBytes: Int64
  /// How many bytes the disk had no room for at the try before; nil when it had.
  package var neededSpace: Int64?
  package var session: SessionID
  /// Whether the app is asked whether to trust servers, and for client certificates.
  package var connectionQuestions = ConnectionQuestions()
  /// The password of the URL, as it stands in one; nil where there is none or it is not known.
  package var password: SecretBytes?
  package var kind: TransferKind
  /// The file of an upload.
  package var upload: StoredUpload?
  /// The server may have the request of a download from an earlier try.
  package var isBegun: Bool
  /// Of its sealed copy; nil where there is none, or the key is gone.
  var copyKey: SymmetricKey?
  /// How fast it may receive and send; nil: as fast as it can.
  package var pace: TransferPace?
  /// The file that it must bring; nil: any.
  package var expectation: ContentExpectation?
  /// How often it may fail, and which answers are none; nil: as the service does by itself.
  package var retry: RetryDescription?

  package init(_ stored: StoredTransfer, options: SessionOptions, remainingTime: TimeInterval) {
    id = stored.head.id
    session = stored.head.session
    request = stored.description.request
    self.options = options
    priority = stored.head.priority
    committedOffset = stored.head.committedOffset
    response = stored.response
    validator = stored.validator
    expectedTotal = stored.head.expectedTotal
    self.remainingTime = remainingTime
    failures = stored.head.failures
    kind = stored.description.kind
    upload = stored.upload
    isBegun = stored.head.isBegun
    countedBytes = stored.head.committedOffset
    expectation = stored.description.expectation
    retry = stored.description.retry ?? options.retry
  }

  /// Whether an answer of this try is that of the task, whatever its status.
  var isLastTry: Bool { retry?.maximumAttempts.map { failures + 1 >= max($0, 1) } ?? false }

  /// The statuses of answers that are none.
  var retriedStatuses: Set<Int> {
    guard !isLastTry, HTTPMethod.isIdempotent(request.method.uppercased()) else { return [] }
    return Set(retry?.statuses ?? [])
  }

  var policy: DownloadPolicy {
    var policy = DownloadPolicy.ofService
    if isLastTry { policy.waitsForServer = false }
    policy.retriedStatuses = retriedStatuses
    return policy
  }
}

/// How one try ended.
package enum DownloadOutcome: Sendable {
  /// The file is complete, under its complete name, and on the disk.
  case finished(ResponseSummary, byteCount: Int64)
  /// It is over without a file.
  case failed(TransferFailure, ResponseSummary?, received: Int64)
  /// It is worth another try, which can go on with what is kept.
  case retry(TransferFailure, kept: KeptBytes, received: Int64)
  /// The server can't send the rest of a download, or take that of an upload, now.
  case refused(PassingRefusal, kept: KeptBytes, received: Int64)
  /// The app has to answer a question first.
  case needsApp(String, received: Int64)
  /// The service's own folders or its queue can't be used; the sentence says why.
  case storageUnavailable(String, kept: KeptBytes, received: Int64)
  /// The disk is full.
  case noSpace(needed: Int64, available: Int64)
  /// It was told to stop; what has arrived is on the disk and committed.
  case stopped(received: Int64)
}

extension DownloadOutcome {
  /// Whether it failed so that it may or may not pass.
  var isDoubtful: Bool {
    guard case .retry(let failure, _, _) = self, failure.domain == NSURLErrorDomain else { return false }
    return URLError.Code(rawValue: failure.code).map { RetryRule.isDoubtful($0) } ?? false
  }
}

/// The events on the way.
package enum DownloadReport: Sendable {
  case responded(ResponseSummary)
  /// The bytes go on from here.
  case resumed(offset: Int64, expectedTotal: Int64)
  /// `kept`: what would be kept if the try broke off here.
  case progressed(received: Int64, expectedTotal: Int64, kept: KeptBytes)
  /// So much of an upload's file is sent. `kept`: what the server would keep if the try broke off here.
  case sent(SentBytes, kept: KeptBytes)
  /// It has a connection to this address, which is no proxy's. `isOfHost`: whether the host of its URL has it; else one that a
  /// redirect leads to.
  case connected(address: String, isOfHost: Bool)
  /// All bytes have arrived, and the file is being kept.
  case arrived
  /// The service's own folders or its queue can't be used, and the try waits for them; the sentence says why.
  case awaitsStorage(String)
  /// The load waits for an answer.
  case asked(PendingChallenge)
  /// The requests of the try, oldest first. The last report.
  case measured([TransactionDescription])
}

extension DownloadJob {
  /// Background transfers load http and https only.
  var url: URL? {
    guard let url = URL(string: request.url), let scheme = url.scheme?.lowercased(), url.host?.isEmpty == false,
      scheme == "http" || scheme == "https"
    else { return nil }
    return url
  }

  /// The bytes that are on the disk.
  var representation: DownloadRepresentation {
    DownloadRepresentation(validator: validator, total: expectedTotal >= 0 ? expectedTotal : nil)
  }

  /// - Parameter configuration: what was made of the job's options; it has the fields of the session, and says what languages
  ///   the app reads.
  func urlRequest(_ url: URL, in configuration: LoadConfiguration) -> URLRequest {
    var made = (request.urlRequest ?? URLRequest(url: url)).completed(by: configuration.additionalHeaders)
    if let password = password?.text(), let url = URL(string: PasswordURL.adding(password, to: request.url)) {
      made.url = url
    }
    // An offset counts bytes of the representation, not of a coding of it. An app that asks for a coding gets it, and
    // pays with a restart when the transfer is interrupted.
    if made.isResumableDownload, !made.headerFields.contains("Accept-Encoding") {
      made.headerFields.append("Accept-Encoding", "identity")
    }
    return made
  }
}
