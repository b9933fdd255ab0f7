import Foundation
import TransferProtocol

extension TransferFailure {
  /// - Parameter url: the URL that failed, where the error does not name one.
  package init(_ error: URLError, url: String? = nil) {
    self.init(
      domain: NSURLErrorDomain, code: error.errorCode,
      message: error.userInfo[NSLocalizedDescriptionKey] as? String
        ?? "The transfer failed (\(NSURLErrorDomain) \(error.errorCode)).",
      url: (error.userInfo[NSURLErrorFailingURLErrorKey] as? URL)?.absoluteString ?? url)
    cancelReason = error.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int
    mismatch = error.contentMismatch?.description
    if let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError {
      underlyingDomain = underlying.domain
      underlyingCode = underlying.code
    }
  }

  /// The error that was described.
  package var urlError: URLError {
    var userInfo: [String: Any] = [NSLocalizedDescriptionKey: message]
    if let cancelReason { userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] = cancelReason }
    if let mismatch = mismatch.flatMap({ ContentMismatch($0) }) {
      userInfo[NSUnderlyingErrorKey] = mismatch
    } else if let underlyingDomain, let underlyingCode {
      userInfo[NSUnderlyingErrorKey] = NSError(domain: underlyingDomain, code: underlyingCode)
    }
    let code = (domain == NSURLErrorDomain ? URLError.Code(rawValue: code) : nil) ?? .unknown
    return ErrorMapping.urlError(URLError(code, userInfo: userInfo), url: url.flatMap { URL(string: $0) })
  }
}
