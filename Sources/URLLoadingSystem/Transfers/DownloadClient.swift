import Foundation
import HTTPSemantics

/// The owner of a `ResumableDownload`: a task of a session, or a transfer of the service. Told on the load's loop.
package protocol DownloadClient: AnyObject, Sendable {
  associatedtype Destination: DownloadDestination

  /// The meaning of an answer to the request for the download. Told before its body is received.
  func downloadAdvanced(_ event: DownloadEvent)
  /// `bytes` of the body arrived and are about to be written.
  /// - Parameter total: with all that was there before.
  func downloadReceived(_ bytes: Int, total: Int64)
  /// A new place for an answer that is neither the resource nor a part of it; the bytes that are kept stay. Asked only
  /// under `DownloadPolicy.UnrelatedAnswer.besides`.
  func makeDestination(in context: LoadContext) async throws -> Destination
}

/// The meaning of an answer for a download. `expected` is the length of the whole; nil when it is not known.
package enum DownloadEvent {
  /// The body starts at the first byte. It is a restart when the rest was asked for, or when bytes that were kept have
  /// been dropped before.
  case began(LoadedResponse, expected: Int64?, isRestart: Bool)
  /// The body continues the bytes that are kept. Told of the first part that does; further parts are `continued`.
  case resumed(LoadedResponse, at: Int64, expected: Int64?)
  /// A further part follows, or the server said that the part before was the last.
  case continued(expected: Int64?)
  /// All bytes are here already: the server said so with 416.
  case wasComplete(LoadedResponse, count: Int64)
  /// The answer is neither the resource nor a part of it, such as a failure. It becomes the file.
  case answered(LoadedResponse)
  /// The answer does not continue the bytes that are kept: they are dropped, and the whole is asked for.
  case startsOver(because: String)
}

/// In what the downloads of a session and those of the service differ.
package struct DownloadPolicy: Sendable {
  /// The treatment of the bytes that are kept when the answer is neither the resource nor a part of it.
  package enum UnrelatedAnswer: Sendable {
    /// They stay as they are; the answer goes to a place of its own.
    case besides
    /// The answer takes their place.
    case replaces
  }

  package var unrelatedAnswer: UnrelatedAnswer
  /// Whether a download may begin at zero once its client was told that it was resumed.
  package var restartsAfterResuming: Bool
  /// Whether a server that can't send the rest now ends the try with a `PassingRefusal`, and what is kept stays. Otherwise
  /// its answer is one like any other.
  package var waitsForServer: Bool
  /// The HTTP statuses of answers that end the try with a `PassingRefusal`, also where the whole was asked for.
  package var retriedStatuses: Set<Int> = []

  /// The refusal that an answer is because its status is listed; nil where it is not.
  package func listedRefusal(_ loaded: LoadedResponse) -> PassingRefusal? {
    guard let head = loaded.head, retriedStatuses.contains(head.status) else { return nil }
    let wait = head.fields["Retry-After"].flatMap {
      RetryAfter.clampedSeconds($0, now: Int64(Date().timeIntervalSince1970))
    }
    return PassingRefusal(status: head.status, wait: wait)
  }

  /// The app holds resume data of its own, and its delegate was told where the download goes on.
  package static let ofSession = DownloadPolicy(
    unrelatedAnswer: .besides, restartsAfterResuming: false, waitsForServer: false)
  /// The service has nothing but the transfer, and the app did not ask for the rest.
  package static let ofService = DownloadPolicy(
    unrelatedAnswer: .replaces, restartsAfterResuming: true, waitsForServer: true)
}
