import Foundation

extension URLRequest {
  /// Whether a download of it can ever be continued: a GET over HTTP or FTP that asks for no range or condition itself.
  package var isResumableDownload: Bool {
    guard url?.isHTTP == true || url?.isFTP == true, (httpMethod ?? "GET") == "GET", httpBody == nil,
      httpBodyStream == nil
    else {
      return false
    }
    // RFC 9110 §13.1: with conditions of its own, the app wants to hear 304 or 412, which a resumption could cause too.
    return !["Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"]
      .contains { headerFields.contains($0) }
  }
}

extension URL {
  package var isFTP: Bool { ["ftp", "ftps"].contains(scheme?.lowercased() ?? "") && host?.isEmpty == false }

  package var isHTTP: Bool { ["http", "https"].contains(scheme?.lowercased() ?? "") && host?.isEmpty == false }
}
