import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

@Suite struct AppTransportSecurityTests {
  private func session(_ policy: AppTransportSecurity?, _ file: String? = nil) -> URLSession {
    secureSession(trusting: file) { $0.appTransportSecurity = policy }
  }

  private func policy(_ change: (inout AppTransportSecurity) -> Void) -> AppTransportSecurity {
    var policy = AppTransportSecurity()
    change(&policy)
    return policy
  }

  @Test func aProgramWithoutADictionaryHasNoPolicy() async throws {
    #expect(AppTransportSecurity.ofMainBundle == nil)
    #expect(URLSessionConfiguration.default.appTransportSecurity == nil)
    let server = try await LoopbackServer.start { _ in .ok("plain") }
    let session = session(nil)
    #expect(try await session.data(from: server.url()).0 == Data("plain".utf8))
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func httpIsRefusedBeforeAnythingIsSent() async throws {
    let server = try await LoopbackServer.start { _ in .ok("plain") }
    let session = session(AppTransportSecurity())
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == .appTransportSecurityRequiresSecureConnection && error?.errorCode == -1022)
    #expect(error?.localizedDescription.contains("NSExceptionDomains") == true)
    #expect(error?.failingURL == server.url())
    #expect(server.connectionCount == 0)
    session.invalidateAndCancel()
    await server.shutdown()
  }

  @Test func exceptionsAreAllowed() async throws {
    let server = try await LoopbackServer.start { _ in .ok("plain") }
    var domain = AppTransportSecurity.ExceptionDomain()
    domain.allowsInsecureHTTPLoads = true
    let policies = [
      policy { $0.allowsArbitraryLoads = true }, policy { $0.allowsLocalNetworking = true },
      policy { $0.exceptionDomains["127.0.0.1"] = domain },
    ]
    for policy in policies {
      let session = session(policy)
      #expect(try await session.data(from: server.url()).0 == Data("plain".utf8))
      session.invalidateAndCancel()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aRedirectToHTTPIsRefused() async throws {
    let certificates = try TestCertificates.shared()
    let plain = try await LoopbackServer.start { _ in .ok("plain") }
    let target = plain.url("/", host: "127.0.0.1").absoluteString
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in
      .status(302, fields: [("Location", target)])
    }
    let session = session(AppTransportSecurity(), certificates.authorityFile)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == .appTransportSecurityRequiresSecureConnection)
    #expect(plain.connectionCount == 0 && server.requests.count == 1)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    await plain.shutdown()
  }

  /// What the policy demands of the encryption comes on top of what the session demands.
  @Test(arguments: [(AppTransportSecurity?.none, true), (.some(AppTransportSecurity()), false)])
  func weakEncryptionIsRefused(_ policy: AppTransportSecurity?, _ works: Bool) async throws {
    let certificates = try TestCertificates.shared()
    var tls = ServerTLS(certificates.localhost)
    tls.minimumVersion = .tlsv11
    tls.maximumVersion = .tlsv11
    tls.cipherSuites = "ECDHE-ECDSA-AES128-SHA"
    let server = try await LoopbackServer.start(tls: tls) { _ in .ok("secret") }
    let session = secureSession(trusting: certificates.authorityFile) {
      $0.tlsMinimumSupportedProtocolVersion = .TLSv10
      $0.appTransportSecurity = policy
    }
    if works {
      #expect(try await session.data(from: server.url()).0 == Data("secret".utf8))
    } else {
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .secureConnectionFailed)
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func dictionariesAreRead() throws {
    let text = """
      <plist version="1.0"><dict>
        <key>NSAllowsArbitraryLoads</key><true/>
        <key>NSAllowsLocalNetworking</key><true/>
        <key>NSExceptionDomains</key><dict>
          <key>old.example.com</key><dict>
            <key>NSIncludesSubdomains</key><true/>
            <key>NSExceptionAllowsInsecureHTTPLoads</key><true/>
            <key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string>
            <key>NSExceptionRequiresForwardSecrecy</key><false/>
          </dict>
          <key>older.example.com</key><dict>
            <key>NSTemporaryExceptionAllowsInsecureHTTPLoads</key><true/>
            <key>NSThirdPartyExceptionMinimumTLSVersion</key><string>TLSv1.1</string>
          </dict>
          <key>new.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict>
        </dict>
      </dict></plist>
      """
    let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
    let policy = AppTransportSecurity(dictionary: try #require(list as? [String: Any]))
    // Who allows local hosts means these and no others.
    #expect(!policy.allowsArbitraryLoads && policy.allowsLocalNetworking)
    let old = try #require(policy.exceptionDomains["old.example.com"])
    #expect(old.includesSubdomains && old.allowsInsecureHTTPLoads && !old.requiresForwardSecrecy)
    #expect(old.minimumTLSVersion == .TLSv10)
    let older = try #require(policy.exceptionDomains["older.example.com"])
    #expect(!older.includesSubdomains && older.allowsInsecureHTTPLoads && older.requiresForwardSecrecy)
    #expect(older.minimumTLSVersion == .TLSv11)
    #expect(policy.exceptionDomains["new.example.com"]?.minimumTLSVersion == .TLSv13)
    #expect(AppTransportSecurity(json: try #require(policy.json)) == policy)
    #expect(AppTransportSecurity(json: "no policy") == AppTransportSecurity())
  }
}
