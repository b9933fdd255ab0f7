import Foundation
import HTTPSemantics

/// The place where a server keeps an upload, and what it has said about it: all that has to be kept to resume the
/// upload later.
package struct UploadPlace: Sendable, Equatable {
  package internal(set) var version: UploadVersion
  /// The upload's own resource; nil as long as the server has not named it.
  package internal(set) var resource: URL?
  package internal(set) var limit = UploadLimit(nil)
  /// How much the server was last known to have.
  package internal(set) var acknowledged: Int64 = 0

  package init(version: UploadVersion, resource: URL? = nil) {
    self.version = version
    self.resource = resource
  }

  /// Takes in what the server says. Relative locations count from `url`.
  mutating func note(_ answer: UploadAnswer, at url: URL?) {
    if let version = answer.version { self.version = version }
    if answer.limit != UploadLimit(nil) { limit = answer.limit }
    guard let location = answer.location, let url, let redirect = Self.redirect(from: url, to: location) else { return }
    resource = URL(string: redirect.target)
  }

  /// The request to the upload's resource: the app's, without what describes the body, and without what was meant for
  /// another origin than the resource's. nil without a resource.
  func request(_ method: String, from original: URLRequest) -> URLRequest? {
    guard let resource, let url = original.url, let redirect = Self.redirect(from: url, to: resource.absoluteString)
    else { return nil }
    var request = original
    request.url = resource
    request.httpMethod = method
    request.httpBody = nil
    request.httpBodyStream = nil
    let removed =
      redirect.removedFields + [
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Range", "Content-Digest", "Digest",
        "Repr-Digest", "Expect", "Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
        "Upload-Complete", "Upload-Incomplete", "Upload-Offset", "Upload-Length",
      ]
    for name in removed { request.headerFields.remove(name) }
    return request
  }

  /// A location is resolved, and credentials are kept back, as for a redirect. A location that leads from https to http
  /// is not used.
  private static func redirect(from url: URL, to location: String) -> Redirect? {
    let decision = RedirectRules.decide(
      status: 307, method: "GET", hasBody: false, url: url.absoluteString, locations: [location], redirectCount: 0)
    guard case .follow(let redirect) = decision else { return nil }
    if url.scheme?.lowercased() == "https", !redirect.target.hasPrefix("https:") { return nil }
    return redirect
  }
}
