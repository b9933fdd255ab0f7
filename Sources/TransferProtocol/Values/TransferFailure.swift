/// An error, taken apart so that the app can make an `NSError` of it.
package struct TransferFailure: Codable, Sendable, Equatable {
  package var domain: String
  package var code: Int
  package var message: String
  /// The URL that failed.
  package var url: String?
  /// `NSURLErrorBackgroundTaskCancelledReasonKey`.
  package var cancelReason: Int?
  /// The error underneath, such as the POSIX one.
  package var underlyingDomain: String?
  package var underlyingCode: Int?
  /// In what the content is not what the app expected, where that is the failure.
  package var mismatch: MismatchDescription?

  package init(domain: String, code: Int, message: String, url: String? = nil) {
    self.domain = domain
    self.code = code
    self.message = message
    self.url = url
  }
}
