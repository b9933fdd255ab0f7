import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#else
import Security
#endif

/// Shows a client that knows the key of its server: a certificate that the system trusts is not enough.
///
///     EXAMPLES=1 swift run certificate-pinning https://localhost:8443 server.pem
///
/// The system has to trust the server. With a server of your own: `SSL_CERT_FILE=authority.pem` in the environment.
@main
struct CertificatePinning {
  static func main() async {
    guard CommandLine.arguments.count == 3, let server = URL(string: CommandLine.arguments[1]),
      let host = server.host, let pin = PinnedKeys.key(inFile: CommandLine.arguments[2])
    else {
      print("usage: certificate-pinning SERVER CERTIFICATE")
      exit(64)
    }
    do { try await run(loading: server.appendingPathComponent("article"), from: host, with: pin) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(loading article: URL, from host: String, with pin: Data) async throws {
    let pinned = PinnedKeys(pins: [host: [pin]])
    let session = URLSession(configuration: .ephemeral, delegate: pinned, delegateQueue: nil)
    let (data, _) = try await session.data(from: article)
    print("loaded: \(data.count) bytes")
    session.finishTasksAndInvalidate()

    // The same server, for an app that expects another key: an attacker with a certificate of some authority.
    let other = PinnedKeys(pins: [host: [Data(pin.reversed())]])
    let otherSession = URLSession(configuration: .ephemeral, delegate: other, delegateQueue: nil)
    do {
      _ = try await otherSession.data(from: article)
      print("loaded from a server without the key")
      exit(1)
    } catch let error as URLError where error.code == .cancelled {
      print("refused: nothing was sent")
    }
    otherSession.finishTasksAndInvalidate()
  }
}
