import Foundation
import HTTPSemantics

/// Answers a proxy for ftp that could not log in at the server: 401 to a request for an ftp URL. The question is the FTP
/// server's, in its protection space; the answer goes to the proxy as Basic, which is what such proxies read.
struct FTPGatewayAuthentication: LoadStage {
  /// The first request says what the URL says; the loader has seen to that.
  func willSend(_ run: PipelineRun) -> LoadStep {
    if let value = run.network?.ftpAuthentication?.basicValue { run.fields["Authorization"] = value }
    return .proceed
  }

  func didReceive(_ response: LoadedResponse, _ run: PipelineRun) -> LoadStep {
    guard let hop = run.network, let authentication = hop.ftpAuthentication, hop.target.key.proxy?.use == .forward,
      let head = response.head
    else { return .proceed }
    if head.status < 400 { authentication.accepted() }
    guard head.status == 401 else { return .proceed }
    let challenges = AuthenticationChallenge.all(in: head.fields, "WWW-Authenticate")
    guard challenges.contains(where: { AuthenticationScheme(rawValue: $0.scheme) == .basic }) else { return .proceed }
    return .wait {
      do {
        guard try await authentication.refused(by: response.response) else { return .proceed }
      } catch {
        response.body.discard()
        throw error
      }
      await response.body.drain()
      return .again
    }
  }
}
