import Foundation

/// Which loader serves which scheme: the end of the pipeline.
enum SchemeLoaders {
  static func begin(_ run: PipelineRun) -> LoadStep {
    if run.httpScheme != nil { return HTTPLoader.begin(run) }
    guard let url = run.request.urlRequest.url, let scheme = url.scheme else {
      return .fail(
        ErrorMapping.make(.unsupportedURL, because: "The request has no URL, or its URL has no scheme."))
    }
    switch scheme.lowercased() {
    case "http", "https", "http+unix": return HTTPLoader.begin(run)
    case "ftp", "ftps": return FTPLoader.begin(run)
    case "file": return FileLoader.begin(run, url)
    case "data": return DataURLLoader.begin(run, url)
    default:
      return .fail(
        ErrorMapping.urlError(
          ErrorMapping.make(.unsupportedURL, because: "URLs with the scheme \(scheme) can't be loaded."), url: url))
    }
  }
}
