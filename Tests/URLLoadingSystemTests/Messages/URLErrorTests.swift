import Foundation
import Testing
import URLLoadingSystem

@Suite struct URLErrorTests {
  @Test(arguments: 0..<3) func readsTheReasonOfABackgroundCancellation(number: Int) {
    let error = URLError(.cancelled, userInfo: [NSURLErrorBackgroundTaskCancelledReasonKey: NSNumber(value: number)])
    #expect(error.backgroundTaskCancelledReason?.rawValue == number)
    #expect(URLError(.cancelled).backgroundTaskCancelledReason == nil)
  }

  @Test(arguments: [
    (URLError.NetworkUnavailableReason.cellular, 0), (.expensive, 1), (.constrained, 2), (.ultraConstrained, 3),
  ])
  func readsThePolicyThatExcludedTheNetwork(reason: URLError.NetworkUnavailableReason, number: Int) {
    let error = URLError(.notConnectedToInternet, userInfo: [NSURLErrorNetworkUnavailableReasonKey: number])
    #expect(error.networkUnavailableReason == reason)
    #expect(
      URLError(.notConnectedToInternet, userInfo: [NSURLErrorNetworkUnavailableReasonKey: 9]).networkUnavailableReason
        == nil)
  }

  @Test func carriesResumeData() {
    let error = URLError(
      .networkConnectionLost,
      userInfo: [NSURLSessionDownloadTaskResumeData: Data([1]), NSURLSessionUploadTaskResumeData: Data([2])])
    #expect(error.downloadTaskResumeData == Data([1]))
    #expect(error.uploadTaskResumeData == Data([2]))
    #expect(error.failureURLPeerTrust == nil)
  }

  @Test func carriesThePeersTrust() {
    let trust = SecTrust(certificates: [SecCertificate(derBytes: Data([1]))], host: "example.com")
    let error = URLError(.serverCertificateUntrusted, userInfo: [NSURLErrorFailingURLPeerTrustErrorKey: trust])
    #expect(error.failureURLPeerTrust === trust)
  }

  @Test func fillsTheGapsOfFoundation() {
    #expect(URLError.appTransportSecurityRequiresSecureConnection.rawValue == -1022)
    #expect(URLError.dataLengthExceedsMaximum.rawValue == -1103)
    #expect(NSURLErrorFileOutsideSafeArea == -1104)
    #expect(NSURLSessionTransferSizeUnknown == -1)
    #expect(NSErrorFailingURLStringKey == "NSErrorFailingURLStringKey")
  }
}
