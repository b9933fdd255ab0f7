import Foundation

extension URLProtocol {
  /// The values that the loading system makes an object of. Apps have no use for it.
  public struct Start {
    let request: URLRequest
    let cachedResponse: CachedURLResponse?
    let client: any URLProtocolClient
  }
}
