import Foundation
import Synchronization

/// Every delegate method that a delegate may leave out, once per form.
///
/// Swift has no optional protocol requirements outside Objective-C, so each has a default implementation, and the
/// default's first act is to note here that the delegate's class has none of its own.
enum DelegateMethod: Int, Sendable {
  case didBecomeInvalid, didFinishEvents
  case sessionChallenge, sessionChallengeAsync
  case didCreateTask, waitingForConnectivity
  case delayedRequest, delayedRequestAsync
  case redirection, redirectionAsync
  case taskChallenge, taskChallengeAsync
  case newBodyStream, newBodyStreamAsync
  case newBodyStreamFrom, newBodyStreamFromAsync
  case didSendBodyData, informationalResponse, metrics, didComplete
  case response, responseAsync
  case becameDownload, becameStream, data
  case willCache, willCacheAsync
  case didWriteData, didResume, didFinishDownloading
  case didOpenWebSocket, didCloseWebSocket
  case readClosed, writeClosed, becameStreams

  var bit: UInt64 { 1 << UInt64(rawValue) }

  static let ofTasks = bits(from: .didCreateTask, through: .didComplete)
  static let ofDataTasks = bits(from: .response, through: .willCacheAsync)
  static let ofDownloadTasks = bits(from: .didWriteData, through: .didFinishDownloading)

  static let ofWebSocketTasks = bits(from: .didOpenWebSocket, through: .didCloseWebSocket)

  static let ofStreamTasks = bits(from: .readClosed, through: .becameStreams)

  private static func bits(from first: DelegateMethod, through last: DelegateMethod) -> UInt64 {
    (first.rawValue...last.rawValue).reduce(0) { $0 | 1 << UInt64($1) }
  }
}

/// A method that can be written with a completion handler or as `async`; either will do.
struct DelegateQuestion: Sendable {
  let mask: UInt64

  private init(_ callback: DelegateMethod, _ async: DelegateMethod) { mask = callback.bit | async.bit }

  static let sessionChallenge = DelegateQuestion(.sessionChallenge, .sessionChallengeAsync)
  static let delayedRequest = DelegateQuestion(.delayedRequest, .delayedRequestAsync)
  static let redirection = DelegateQuestion(.redirection, .redirectionAsync)
  static let taskChallenge = DelegateQuestion(.taskChallenge, .taskChallengeAsync)
  static let newBodyStream = DelegateQuestion(.newBodyStream, .newBodyStreamAsync)
  static let newBodyStreamFrom = DelegateQuestion(.newBodyStreamFrom, .newBodyStreamFromAsync)
  static let response = DelegateQuestion(.response, .responseAsync)
  static let willCache = DelegateQuestion(.willCache, .willCacheAsync)
}

/// What is known of one delegate class: the methods it was found to lack.
///
/// Nothing is known at first. A call to a lacking method reaches the default implementation, which calls
/// `noteMissing`; whoever called looks here afterwards and asks the next delegate. Later calls are skipped.
final class DelegateCapabilities: Sendable {
  private let missing = Atomic<UInt64>(0)
  private static let known = Mutex<[ObjectIdentifier: DelegateCapabilities]>([:])

  func lacks(_ method: DelegateMethod) -> Bool { missing.load(ordering: .acquiring) & method.bit != 0 }

  /// True when both forms are known to be left out.
  func lacks(_ question: DelegateQuestion) -> Bool {
    missing.load(ordering: .acquiring) & question.mask == question.mask
  }

  /// The entry of a delegate's dynamic class.
  static func of(_ delegate: any URLSessionDelegate) -> DelegateCapabilities {
    of(type(of: delegate))
  }

  private static func of(_ type: any URLSessionDelegate.Type) -> DelegateCapabilities {
    known.withLock { known in
      let id = ObjectIdentifier(type)
      if let found = known[id] { return found }
      let made = DelegateCapabilities()
      known[id] = made
      return made
    }
  }

  fileprivate func noteMissing(_ methods: UInt64) {
    guard missing.load(ordering: .relaxed) & methods != methods else { return }
    missing.bitwiseOr(methods, ordering: .releasing)
  }

  /// Called by the default implementations.
  static func noteMissing(_ method: DelegateMethod, of delegate: any URLSessionDelegate) {
    of(delegate).missing.bitwiseOr(method.bit, ordering: .releasing)
  }
}

/// A delegate seen through each of the protocols it conforms to, so that the casts are made once.
final class DelegateFacets: Sendable {
  let session: any URLSessionDelegate
  let task: (any URLSessionTaskDelegate)?
  let data: (any URLSessionDataDelegate)?
  let download: (any URLSessionDownloadDelegate)?
  let webSocket: (any URLSessionWebSocketDelegate)?
  let stream: (any URLSessionStreamDelegate)?
  let capabilities: DelegateCapabilities

  init(_ delegate: any URLSessionDelegate) {
    session = delegate
    task = delegate as? any URLSessionTaskDelegate
    data = task as? any URLSessionDataDelegate
    download = task as? any URLSessionDownloadDelegate
    webSocket = task as? any URLSessionWebSocketDelegate
    stream = task as? any URLSessionStreamDelegate
    capabilities = DelegateCapabilities.of(delegate)
    // What a class does not even conform to, it lacks.
    if task == nil { capabilities.noteMissing(DelegateMethod.ofTasks) }
    if data == nil { capabilities.noteMissing(DelegateMethod.ofDataTasks) }
    if download == nil { capabilities.noteMissing(DelegateMethod.ofDownloadTasks) }
    if webSocket == nil { capabilities.noteMissing(DelegateMethod.ofWebSocketTasks) }
    if stream == nil { capabilities.noteMissing(DelegateMethod.ofStreamTasks) }
  }
}
