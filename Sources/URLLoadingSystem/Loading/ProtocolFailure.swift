import Foundation

/// An error that a custom protocol gave: the app gets it as it is.
struct ProtocolFailure: Error {
  let error: any Error

  /// The error as the app gets it. One of the domain `NSURLErrorDomain` is a `URLError` that names the URL.
  func told(for url: URL?) -> any Error {
    if let error = error as? URLError { return ErrorMapping.urlError(error, url: url) }
    let described = error as NSError
    guard described.domain == NSURLErrorDomain, let code = URLError.Code(rawValue: described.code) else { return error }
    return ErrorMapping.urlError(URLError(code, userInfo: described.userInfo), url: url)
  }
}
