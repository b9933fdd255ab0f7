import Foundation
import Testing
import URLLoadingSystem

/// Numbers and strings that apps store and that other systems know: Apple's.
@Suite struct RawValueTests {
  @Test func statesOfTasks() {
    let states: [URLSessionTask.State] = [.running, .suspended, .canceling, .completed]
    #expect(states.map(\.rawValue) == [0, 1, 2, 3])
  }

  @Test func prioritiesOfTasks() {
    #expect(URLSessionTask.defaultPriority == 0.5)
    #expect((0..<0.5).contains(URLSessionTask.lowPriority) && URLSessionTask.lowPriority > 0)
    #expect((0.5...1).contains(URLSessionTask.highPriority) && URLSessionTask.highPriority > 0.5)
  }

  @Test func dispositions() {
    let delayed: [URLSession.DelayedRequestDisposition] = [.continueLoading, .useNewRequest, .cancel]
    #expect(delayed.map(\.rawValue) == [0, 1, 2])
    let challenge: [URLSession.AuthChallengeDisposition] = [
      .useCredential, .performDefaultHandling, .cancelAuthenticationChallenge, .rejectProtectionSpace,
    ]
    #expect(challenge.map(\.rawValue) == [0, 1, 2, 3])
    let response: [URLSession.ResponseDisposition] = [.cancel, .allow, .becomeDownload, .becomeStream]
    #expect(response.map(\.rawValue) == [0, 1, 2, 3])
  }

  @Test func metrics() {
    let types: [URLSessionTaskMetrics.ResourceFetchType] = [.unknown, .networkLoad, .serverPush, .localCache]
    #expect(types.map(\.rawValue) == [0, 1, 2, 3])
    let protocols: [URLSessionTaskMetrics.DomainResolutionProtocol] = [.unknown, .udp, .tcp, .tls, .https]
    #expect(protocols.map(\.rawValue) == [0, 1, 2, 3, 4])
  }

  @Test func configurationsAndRequests() {
    let multipath: [URLSessionConfiguration.MultipathServiceType] = [.none, .handover, .interactive, .aggregate]
    #expect(multipath.map(\.rawValue) == [0, 1, 2, 3])
    #expect([URLRequest.Attribution.developer, .user].map(\.rawValue) == [0, 1])
  }

  @Test func stores() {
    #expect([URLCache.StoragePolicy.allowed, .allowedInMemoryOnly, .notAllowed].map(\.rawValue) == [0, 1, 2])
    let policies: [HTTPCookie.AcceptPolicy] = [.always, .never, .onlyFromMainDocumentDomain]
    #expect(policies.map(\.rawValue) == [0, 1, 2])
    let persistences: [URLCredential.Persistence] = [.none, .forSession, .permanent, .synchronizable]
    #expect(persistences.map(\.rawValue) == [0, 1, 2, 3])
    #expect(
      NSURLCredentialStorageRemoveSynchronizableCredentials == "NSURLCredentialStorageRemoveSynchronizableCredentials")
  }

  @Test func notifications() {
    #expect(
      Notification.Name.NSHTTPCookieManagerCookiesChanged.rawValue == "NSHTTPCookieManagerCookiesChangedNotification")
    #expect(
      Notification.Name.NSHTTPCookieManagerAcceptPolicyChanged.rawValue
        == "NSHTTPCookieManagerAcceptPolicyChangedNotification")
    #expect(Notification.Name.NSURLCredentialStorageChanged.rawValue == "NSURLCredentialStorageChangedNotification")
  }

  @Test(
    arguments: [
      (.name, "Name"), (.value, "Value"), (.originURL, "OriginURL"), (.domain, "Domain"), (.path, "Path"),
      (.version, "Version"), (.secure, "Secure"), (.expires, "Expires"), (.maximumAge, "Max-Age"),
      (.discard, "Discard"), (.comment, "Comment"), (.commentURL, "CommentURL"), (.port, "Port"),
      (.sameSitePolicy, "SameSite"), (.setByJavaScript, "SetInJavaScript"),
    ] as [(HTTPCookiePropertyKey, String)])
  func cookieKeys(key: HTTPCookiePropertyKey, text: String) {
    #expect(key.rawValue == text)
  }

  @Test func sameSitePolicies() {
    #expect(HTTPCookieStringPolicy.sameSiteLax.rawValue == "lax")
    #expect(HTTPCookieStringPolicy.sameSiteStrict.rawValue == "strict")
  }

  @Test(arguments: [
    (NSURLProtectionSpaceHTTP, "http"), (NSURLProtectionSpaceHTTPS, "https"), (NSURLProtectionSpaceFTP, "ftp"),
    (NSURLProtectionSpaceHTTPProxy, "http"), (NSURLProtectionSpaceHTTPSProxy, "https"),
    (NSURLProtectionSpaceFTPProxy, "ftp"), (NSURLProtectionSpaceSOCKSProxy, "SOCKS"),
    (NSURLAuthenticationMethodDefault, "NSURLAuthenticationMethodDefault"),
    (NSURLAuthenticationMethodHTTPBasic, "NSURLAuthenticationMethodHTTPBasic"),
    (NSURLAuthenticationMethodHTTPDigest, "NSURLAuthenticationMethodHTTPDigest"),
    (NSURLAuthenticationMethodHTMLForm, "NSURLAuthenticationMethodHTMLForm"),
    (NSURLAuthenticationMethodNTLM, "NSURLAuthenticationMethodNTLM"),
    (NSURLAuthenticationMethodNegotiate, "NSURLAuthenticationMethodNegotiate"),
    (NSURLAuthenticationMethodClientCertificate, "NSURLAuthenticationMethodClientCertificate"),
    (NSURLAuthenticationMethodServerTrust, "NSURLAuthenticationMethodServerTrust"),
  ])
  func protectionSpaces(constant: String, text: String) {
    #expect(constant == text)
  }
}
