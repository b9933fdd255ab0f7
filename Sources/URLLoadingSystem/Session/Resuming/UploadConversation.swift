import Foundation
import HTTPSemantics

/// What a task knows of its upload on the server. Confined to the load's loop, as the task's load is.
struct UploadConversation {
  var version: UploadVersion
  /// Where the server keeps the upload; nil as long as it has not said so.
  var resource: URL?
  var limit = UploadLimit(nil)
  /// Of the whole; nil when it is not known.
  var length: Int64?
  /// The file as it was when the upload began.
  var identity: FileIdentity?
  /// Where the body of the present request begins in the whole.
  var base: Int64 = 0
  /// How much the server was last known to have.
  var acknowledged: Int64 = 0
  /// The client was asked for a stream of the body and had none.
  var lacksStream = false
  /// The file of ours that holds the body of a resumed task.
  var ownFile: (name: String, size: Int64)?

  init(version: UploadVersion, length: Int64?) {
    self.version = version
    self.length = length
  }

  /// Takes in what the server says. Relative locations count from `url`.
  mutating func note(_ answer: UploadAnswer, at url: URL?) {
    if let version = answer.version { self.version = version }
    if answer.limit != UploadLimit(nil) { limit = answer.limit }
    guard let location = answer.location, let url, let redirect = Self.redirect(from: url, to: location) else { return }
    resource = URL(string: redirect.target)
  }

  /// The request to the upload's resource: the app's, without what spoke of the body, and without what was meant for
  /// another origin than the resource's.
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

  /// A location is resolved, and credentials are kept back, as for a redirect. From https to http is no way on.
  private static func redirect(from url: URL, to location: String) -> Redirect? {
    let decision = RedirectRules.decide(
      status: 307, method: "GET", hasBody: false, url: url.absoluteString, locations: [location], redirectCount: 0)
    guard case .follow(let redirect) = decision else { return nil }
    if url.scheme?.lowercased() == "https", !redirect.target.hasPrefix("https:") { return nil }
    return redirect
  }
}
