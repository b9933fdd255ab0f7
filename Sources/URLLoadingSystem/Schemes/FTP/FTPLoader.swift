import Foundation
import HTTPSemantics
import HTTPTransport

/// Loads `ftp:` URLs: files, and folders as the server lists them.
///
/// The server is spoken to in FTP, directly or through whatever passes bytes on (SOCKS, CONNECT). A proxy for ftp is
/// asked in HTTP for the whole URL, as CFNetwork and the proxies themselves mean it; its answer is a response of HTTP.
enum FTPLoader {
  static func begin(_ run: PipelineRun) -> LoadStep {
    if let hop = run.network { return HTTPLoader.attempt(hop, run) }
    do {
      let hop = try makeHop(run)
      run.network = hop
      return HTTPLoader.attempt(hop, run)
    } catch { return .fail(error) }
  }

  private static func makeHop(_ run: PipelineRun) throws -> NetworkHop {
    let (request, context) = (run.request, run.context)
    guard let url = request.urlRequest.url else {
      throw ErrorMapping.make(.badURL, because: "The request has no URL.")
    }
    let target = try HTTPTarget(ftp: url)
    let resource: FTPResource
    do { resource = try FTPResource(parsing: url.absoluteString) } catch {
      throw ErrorMapping.urlError(ErrorMapping.make(.badURL, because: error.sentence), url: url)
    }
    guard (request.urlRequest.httpMethod ?? "GET") == "GET", !request.hasBody else {
      throw ErrorMapping.urlError(
        ErrorMapping.make(.unsupportedURL, because: "By FTP, files can be read (GET), and not sent or changed."),
        url: url)
    }
    guard context.upgrade == nil else {
      throw ErrorMapping.urlError(
        ErrorMapping.make(.unsupportedURL, because: "A WebSocket can't be opened at an ftp URL."), url: url)
    }
    // Read only where a proxy is asked.
    run.fields.authorize(as: resource)
    let authentication = FTPAuthentication(
      resource, at: url, host: target.key.host, port: target.key.port, in: context)
    let hop = NetworkHop(to: target, as: .ftp, for: run) { key in
      FTPAttempt(resource, authentication: authentication, run: run, url: url, key: key)
    }
    hop.ftpAuthentication = authentication
    return hop
  }
}

extension HTTPFields {
  /// A proxy that is asked logs in with what the URL says; in the request's target it would stand in its logs.
  fileprivate mutating func authorize(as resource: FTPResource) {
    guard let user = resource.user, !contains("Authorization"),
      let credentials = BasicCredentials.fieldValue(
        username: String(decoding: user, as: UTF8.self),
        password: String(decoding: resource.password ?? [], as: UTF8.self))
    else { return }
    append("Authorization", credentials)
  }
}
