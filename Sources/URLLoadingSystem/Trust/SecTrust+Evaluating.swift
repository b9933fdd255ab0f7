import Dispatch
import Foundation

/// The result of judging a trust.
public enum SecTrustResultType: UInt32, Sendable {
  /// Nothing was judged yet.
  case invalid = 0
  /// Trusted because the user or the app decided so.
  case proceed = 1
  /// Refused because the user or the app decided so.
  case deny = 3
  /// Trusted.
  case unspecified = 4
  /// Not trusted, for a reason that an app may make an exception for.
  case recoverableTrustFailure = 5
  /// Not trusted, and nothing can be done.
  case fatalTrustFailure = 6
  /// Something else went wrong.
  case otherError = 7
}

/// Judges the certificates on the calling thread, which waits; the authorities are read from disk when they were not
/// before. `error` gets the reason, of `NSOSStatusErrorDomain`, when the result is false.
///
/// - Returns: Whether the certificates are trusted.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
  let evaluation = trust.evaluateNow()
  error?.pointee = evaluation.failure?.error
  return evaluation.failure == nil
}

/// Judges the certificates and calls `result` on `queue`.
///
/// - Returns: Always `errSecSuccess`.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
  _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping @Sendable (SecTrust, Bool, CFError?) -> Void
) -> OSStatus {
  queue.async {
    var error: CFError?
    let isTrusted = SecTrustEvaluateWithError(trust, &error)
    result(trust, isTrusted, error)
  }
  return errSecSuccess
}

/// The older form of `SecTrustEvaluateWithError`: `result` gets what was found, and the return value says only whether
/// it could be found out.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
  result.pointee = trust.evaluateNow().resultType
  return errSecSuccess
}

/// The finding when the trust was judged last; `.invalid` before, and after a change to what counts.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
  result.pointee = trust.evaluation?.resultType ?? .invalid
  return errSecSuccess
}

/// The key of the moment at which a trust was judged. Never set here.
public let kSecTrustEvaluationDate = "TrustEvaluationDate"
/// The key of the finding: the number of a `SecTrustResultType`.
public let kSecTrustResultValue = "TrustResultValue"

/// The finding when the trust was judged last: `kSecTrustResultValue`; nil before.
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
  trust.evaluation.map { [kSecTrustResultValue: Int($0.resultType.rawValue)] }
}

extension TrustEvaluation {
  var resultType: SecTrustResultType {
    switch failure {
    case nil: isByException ? .proceed : .unspecified
    case .unreadable: .fatalTrustFailure
    default: .recoverableTrustFailure
    }
  }
}

extension TrustFailure {
  var error: NSError { SecurityError.make(status, "The server is not trusted: \(phrase).") }
}
