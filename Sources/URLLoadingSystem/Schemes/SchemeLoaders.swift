import Foundation

/// Which loader serves which scheme.
enum SchemeLoaders {
  static func loader(for request: URLRequest) -> any SchemeLoader {
    guard let scheme = request.url?.scheme else { return UnsupportedLoader() }
    switch scheme.lowercased() {
    case "http", "https": return HTTPLoader()
    case "ftp": return FTPLoader()
    case "file": return FileLoader()
    case "data": return DataURLLoader()
    default: return UnsupportedLoader()
    }
  }
}

/// Ends the load of a URL that nothing here can load.
private struct UnsupportedLoader: SchemeLoader {
  func load(_ request: LoadRequest, in context: LoadContext) async throws -> LoadedResponse {
    guard let url = request.urlRequest.url, let scheme = url.scheme else {
      throw ErrorMapping.make(.unsupportedURL, because: "The request has no URL, or its URL has no scheme.")
    }
    throw ErrorMapping.urlError(
      ErrorMapping.make(.unsupportedURL, because: "URLs with the scheme \(scheme) can't be loaded."), url: url)
  }
}
