import Foundation

/// To what the result of a task is reported.
enum ResultRecipient: Sendable {
  /// The delegates.
  case delegates
  /// The completion handler of a data or upload task.
  case data(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
  /// The completion handler of a download task.
  case file(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
  /// A task behind an `async` call that has not started yet.
  case unclaimed
  case dataCall(UnsafeContinuation<(Data, URLResponse), any Error>)
  case fileCall(UnsafeContinuation<(URL, URLResponse), any Error>)
  case bytes(AsyncBytesFeed)
  /// Nothing: the end was told, or is not told at all.
  case none

  var isDelegates: Bool { if case .delegates = self { true } else { false } }

  /// True for `async` calls, which go on without the delegate queue.
  var isCall: Bool {
    switch self {
    case .dataCall, .fileCall, .bytes: true
    case .delegates, .data, .file, .unclaimed, .none: false
    }
  }

  /// The buffer of an `async` sequence of bytes; nil for all others.
  var feed: AsyncBytesFeed? { if case .bytes(let feed) = self { feed } else { nil } }
}
