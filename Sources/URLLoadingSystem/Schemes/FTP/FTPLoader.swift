import FTPTransport
import Foundation
import HTTPSemantics
import HTTPTransport

/// Loads `ftp:` and `ftps:` URLs: files, folders as the server lists them, and files that are sent.
///
/// The server is spoken to in FTP, directly or through whatever passes bytes on (SOCKS, CONNECT). A proxy for ftp is
/// asked in HTTP for the whole URL, as CFNetwork and the proxies themselves mean it; its answer is a response of HTTP.
/// Such a proxy is never told of transfers that TLS must protect.
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
    let kind = try kind(of: request, resource, url)
    guard context.upgrade == nil else {
      throw ErrorMapping.urlError(
        ErrorMapping.make(.unsupportedURL, because: "A WebSocket can't be opened at an ftp URL."), url: url)
    }
    let security: FTPSecurity =
      url.scheme?.lowercased() == "ftps" ? .implicit : context.configuration.requiresTLSForFTP ? .explicit : .none
    // Read only where a proxy is asked.
    run.fields.authorize(as: resource)
    let authentication = FTPAuthentication(
      resource, at: url, host: target.key.host, port: target.key.port, in: context)
    let transfer = transfer(kind, of: resource, by: request.urlRequest, in: context)
    let hop = NetworkHop(to: target, as: security == .none ? .ftp : .stream, for: run) { key in
      var server = FTPServer(key, isPassive: context.configuration.usesPassiveFTP, security: security)
      if security != .none { server.handshake = LoadHandshake(ftp: context, host: key.host, port: key.port) }
      return FTPAttempt(transfer, at: server, authentication: authentication, run: run, url: url)
    }
    hop.ftpAuthentication = authentication
    return hop
  }

  /// FTP's own names of its commands are taken for methods, too: APPE and MLSD have no names in HTTP.
  private static func kind(of request: LoadRequest, _ resource: FTPResource, _ url: URL) throws -> FTPTransfer.Kind {
    switch (request.urlRequest.httpMethod ?? "GET", request.hasBody) {
    case ("GET", false), ("RETR", false): return .retrieve
    case ("HEAD", false): return .describe
    case ("MLSD", false) where resource.kind == .listing: return .facts
    case ("GET", true), ("PUT", true), ("POST", true), ("STOR", true), ("APPE", true):
      guard !resource.name.isEmpty else {
        throw ErrorMapping.urlError(
          ErrorMapping.make(.badURL, because: "The URL names no file to write."), url: url)
      }
      return request.urlRequest.httpMethod == "APPE" ? .append : .store
    case (let method, let hasBody):
      let what = hasBody ? "\(method) with a body" : "\(method) without a body"
      throw ErrorMapping.urlError(
        ErrorMapping.make(
          .unsupportedURL,
          because: """
            By FTP, files are read (GET, HEAD) and sent (PUT, POST, APPE with a body), and folders are read (GET, MLSD); \
            there is no \(what).
            """),
        url: url)
    }
  }

  /// A Range without an end is obeyed, and If-Range where it is a date.
  private static func transfer(
    _ kind: FTPTransfer.Kind, of resource: FTPResource, by request: URLRequest, in context: LoadContext
  ) -> FTPTransfer {
    var transfer = FTPTransfer(resource, kind, wantsDate: context.isDownload)
    guard kind == .retrieve, case .from(let offset)? = request.headerFields["Range"].flatMap({ RequestedRange($0) })
    else { return transfer }
    transfer.offset = offset
    guard let condition = request.headerFields["If-Range"] else { return transfer }
    transfer.wantsDate = true
    transfer.condition = HTTPDate.parse(condition)
    if transfer.condition == nil { transfer.offset = 0 }
    return transfer
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
