import Foundation
import Testing
import URLLoadingSystem

/// Every code by each of its names: the case, the member of `URLError` and the constant.
@Suite struct URLErrorCodeTests {
  typealias Names = (code: URLError.Code, member: URLError.Code, constant: Int, number: Int)

  static let general: [Names] = [
    (.unknown, URLError.unknown, NSURLErrorUnknown, -1),
    (.cancelled, URLError.cancelled, NSURLErrorCancelled, -999),
    (.badURL, URLError.badURL, NSURLErrorBadURL, -1000),
    (.timedOut, URLError.timedOut, NSURLErrorTimedOut, -1001),
    (.unsupportedURL, URLError.unsupportedURL, NSURLErrorUnsupportedURL, -1002),
    (.cannotFindHost, URLError.cannotFindHost, NSURLErrorCannotFindHost, -1003),
    (.cannotConnectToHost, URLError.cannotConnectToHost, NSURLErrorCannotConnectToHost, -1004),
    (.networkConnectionLost, URLError.networkConnectionLost, NSURLErrorNetworkConnectionLost, -1005),
    (.dnsLookupFailed, URLError.dnsLookupFailed, NSURLErrorDNSLookupFailed, -1006),
    (.httpTooManyRedirects, URLError.httpTooManyRedirects, NSURLErrorHTTPTooManyRedirects, -1007),
    (.resourceUnavailable, URLError.resourceUnavailable, NSURLErrorResourceUnavailable, -1008),
    (.notConnectedToInternet, URLError.notConnectedToInternet, NSURLErrorNotConnectedToInternet, -1009),
    (
      .redirectToNonExistentLocation, URLError.redirectToNonExistentLocation,
      NSURLErrorRedirectToNonExistentLocation, -1010
    ),
    (.badServerResponse, URLError.badServerResponse, NSURLErrorBadServerResponse, -1011),
    (.userCancelledAuthentication, URLError.userCancelledAuthentication, NSURLErrorUserCancelledAuthentication, -1012),
    (.userAuthenticationRequired, URLError.userAuthenticationRequired, NSURLErrorUserAuthenticationRequired, -1013),
    (.zeroByteResource, URLError.zeroByteResource, NSURLErrorZeroByteResource, -1014),
    (.cannotDecodeRawData, URLError.cannotDecodeRawData, NSURLErrorCannotDecodeRawData, -1015),
    (.cannotDecodeContentData, URLError.cannotDecodeContentData, NSURLErrorCannotDecodeContentData, -1016),
    (.cannotParseResponse, URLError.cannotParseResponse, NSURLErrorCannotParseResponse, -1017),
    (.internationalRoamingOff, URLError.internationalRoamingOff, NSURLErrorInternationalRoamingOff, -1018),
    (.callIsActive, URLError.callIsActive, NSURLErrorCallIsActive, -1019),
    (.dataNotAllowed, URLError.dataNotAllowed, NSURLErrorDataNotAllowed, -1020),
    (.requestBodyStreamExhausted, URLError.requestBodyStreamExhausted, NSURLErrorRequestBodyStreamExhausted, -1021),
    (
      .appTransportSecurityRequiresSecureConnection, URLError.appTransportSecurityRequiresSecureConnection,
      NSURLErrorAppTransportSecurityRequiresSecureConnection, -1022
    ),
  ]

  static let filesAndTLS: [Names] = [
    (.fileDoesNotExist, URLError.fileDoesNotExist, NSURLErrorFileDoesNotExist, -1100),
    (.fileIsDirectory, URLError.fileIsDirectory, NSURLErrorFileIsDirectory, -1101),
    (.noPermissionsToReadFile, URLError.noPermissionsToReadFile, NSURLErrorNoPermissionsToReadFile, -1102),
    (.dataLengthExceedsMaximum, URLError.dataLengthExceedsMaximum, NSURLErrorDataLengthExceedsMaximum, -1103),
    (.secureConnectionFailed, URLError.secureConnectionFailed, NSURLErrorSecureConnectionFailed, -1200),
    (.serverCertificateHasBadDate, URLError.serverCertificateHasBadDate, NSURLErrorServerCertificateHasBadDate, -1201),
    (.serverCertificateUntrusted, URLError.serverCertificateUntrusted, NSURLErrorServerCertificateUntrusted, -1202),
    (
      .serverCertificateHasUnknownRoot, URLError.serverCertificateHasUnknownRoot,
      NSURLErrorServerCertificateHasUnknownRoot, -1203
    ),
    (
      .serverCertificateNotYetValid, URLError.serverCertificateNotYetValid, NSURLErrorServerCertificateNotYetValid,
      -1204
    ),
    (.clientCertificateRejected, URLError.clientCertificateRejected, NSURLErrorClientCertificateRejected, -1205),
    (.clientCertificateRequired, URLError.clientCertificateRequired, NSURLErrorClientCertificateRequired, -1206),
    (.cannotLoadFromNetwork, URLError.cannotLoadFromNetwork, NSURLErrorCannotLoadFromNetwork, -2000),
    (.cannotCreateFile, URLError.cannotCreateFile, NSURLErrorCannotCreateFile, -3000),
    (.cannotOpenFile, URLError.cannotOpenFile, NSURLErrorCannotOpenFile, -3001),
    (.cannotCloseFile, URLError.cannotCloseFile, NSURLErrorCannotCloseFile, -3002),
    (.cannotWriteToFile, URLError.cannotWriteToFile, NSURLErrorCannotWriteToFile, -3003),
    (.cannotRemoveFile, URLError.cannotRemoveFile, NSURLErrorCannotRemoveFile, -3004),
    (.cannotMoveFile, URLError.cannotMoveFile, NSURLErrorCannotMoveFile, -3005),
    (
      .downloadDecodingFailedMidStream, URLError.downloadDecodingFailedMidStream,
      NSURLErrorDownloadDecodingFailedMidStream, -3006
    ),
    (
      .downloadDecodingFailedToComplete, URLError.downloadDecodingFailedToComplete,
      NSURLErrorDownloadDecodingFailedToComplete, -3007
    ),
    (
      .backgroundSessionRequiresSharedContainer, URLError.backgroundSessionRequiresSharedContainer,
      NSURLErrorBackgroundSessionRequiresSharedContainer, -995
    ),
    (
      .backgroundSessionInUseByAnotherProcess, URLError.backgroundSessionInUseByAnotherProcess,
      NSURLErrorBackgroundSessionInUseByAnotherProcess, -996
    ),
    (
      .backgroundSessionWasDisconnected, URLError.backgroundSessionWasDisconnected,
      NSURLErrorBackgroundSessionWasDisconnected, -997
    ),
  ]

  @Test(arguments: (general + filesAndTLS).indices) func everyCodeHasItsNumber(index: Int) {
    let names = (Self.general + Self.filesAndTLS)[index]
    #expect(names.code.rawValue == names.number)
    #expect(names.member == names.code)
    // Foundation of Swift 6.3 for Linux has these seven constants one too low; the codes are right.
    let isOfTLS = (-1206 ... -1200).contains(names.number)
    #expect(names.constant == names.number || (isOfTLS && names.constant == names.number - 1))
    #expect(URLError.Code(rawValue: names.number) == names.code)
    #expect((URLError(names.code) as NSError).domain == NSURLErrorDomain)
    #expect((URLError(names.code) as NSError).code == names.number)
  }

  @Test func noneIsForgotten() {
    let numbers = Set((Self.general + Self.filesAndTLS).map(\.number))
    #expect(numbers.count == 48)
    #expect(NSURLErrorFileOutsideSafeArea == -1104 && !numbers.contains(-1104))
  }

  @Test func reasonsOfCancellingAndKeysHaveApplesValues() {
    #expect(NSURLErrorCancelledReasonUserForceQuitApplication == 0)
    #expect(NSURLErrorCancelledReasonBackgroundUpdatesDisabled == 1)
    #expect(NSURLErrorCancelledReasonInsufficientSystemResources == 2)
    #expect(NSURLErrorDomain == "NSURLErrorDomain")
    #expect(NSURLErrorFailingURLErrorKey == "NSErrorFailingURLKey")
    #expect(NSURLErrorFailingURLPeerTrustErrorKey == "NSURLErrorFailingURLPeerTrustErrorKey")
    #expect(NSURLErrorBackgroundTaskCancelledReasonKey == "NSURLErrorBackgroundTaskCancelledReasonKey")
    #expect(NSURLErrorNetworkUnavailableReasonKey == "NSURLErrorNetworkUnavailableReasonKey")
    #expect(NSURLSessionDownloadTaskResumeData == "NSURLSessionDownloadTaskResumeData")
    #expect(NSURLSessionUploadTaskResumeData == "NSURLSessionUploadTaskResumeData")
  }

  @Test func aFailureSaysWhichURLFailed() async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "gopher://host/x"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.failingURL == url)
    #expect(error?.userInfo[NSErrorFailingURLStringKey] as? String == "gopher://host/x")
  }
}
