import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#else
import Security
#endif

/// Shows a delegate that judges a server's certificate itself: it trusts an authority that the system does not know, as
/// one for tests. (URL Session Programming Guide, "Performing Custom TLS Chain Validation".)
///
///     EXAMPLES=1 swift run trust-evaluation https://localhost:8443 authority.pem
@main
struct TrustEvaluation {
  private static let meansDistrust: Set<URLError.Code> = [
    .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
  ]

  static func main() async {
    guard CommandLine.arguments.count == 3, let server = URL(string: CommandLine.arguments[1]),
      let authority = certificate(inFile: CommandLine.arguments[2])
    else {
      print("usage: trust-evaluation SERVER AUTHORITY")
      exit(64)
    }
    do { try await run(on: server, trusting: authority) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL, trusting authority: SecCertificate) async throws {
    let article = server.appendingPathComponent("article")

    // The system's own judgement.
    do {
      _ = try await URLSession(configuration: .ephemeral).data(from: article)
      print("the system trusts this server already")
      exit(1)
    } catch let error as URLError where Self.meansDistrust.contains(error.code) {
      print("system: the certificate is not trusted")
    }

    let delegate = TrustDelegate(authority: authority)
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let (data, response) = try await session.data(from: article)
    print("delegate: status \((response as? HTTPURLResponse)?.statusCode ?? 0), \(data.count) bytes")

    // The authority signed for another name: the host is part of what is judged.
    guard var components = URLComponents(url: article, resolvingAgainstBaseURL: false) else { exit(1) }
    components.host = "127.0.0.1"
    guard let wrongHost = components.url else { exit(1) }
    do {
      _ = try await session.data(from: wrongHost)
      print("the certificate does not name this host")
      exit(1)
    } catch let error as URLError where error.code == .cancelled {
      print("another host: refused")
    }
    session.finishTasksAndInvalidate()
  }

  /// Reads a PEM file with one certificate. (Apps have theirs in DER in their bundle.)
  private static func certificate(inFile path: String) -> SecCertificate? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let base64 = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    return Data(base64Encoded: base64).flatMap { SecCertificateCreateWithData(nil, $0 as CFData) }
  }
}

final class TrustDelegate: NSObject, URLSessionDelegate {
  private let authority: SecCertificate

  init(authority: SecCertificate) { self.authority = authority }

  /// Called in the middle of the handshake, before a byte of the request is sent.
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust else {
      return completionHandler(.performDefaultHandling, nil)
    }
    // The rules for servers, with the host's name, and this authority in place of those of the system.
    SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, space.host as CFString))
    SecTrustSetAnchorCertificates(trust, [authority] as CFArray)
    SecTrustSetAnchorCertificatesOnly(trust, true)
    var error: CFError?
    if SecTrustEvaluateWithError(trust, &error) {
      completionHandler(.useCredential, URLCredential(trust: trust))
    } else {
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }
}
