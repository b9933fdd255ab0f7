import Foundation

// Members that Apple's URLError has and the toolchain's Foundation lacks.

/// The older name of `NSURLErrorFailingURLStringErrorKey`, with the same value.
public let NSErrorFailingURLStringKey = "NSErrorFailingURLStringKey"

/// The key of the `URLError.NetworkUnavailableReason`'s number.
public let NSURLErrorNetworkUnavailableReasonKey = "NSURLErrorNetworkUnavailableReasonKey"

/// The key of the data with which a failed download can be continued.
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

/// As `NSURLSessionDownloadTaskResumeData`: the name that Foundation for Linux has given it.
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData

/// The key of the data with which a failed upload can be continued.
public let NSURLSessionUploadTaskResumeData = "NSURLSessionUploadTaskResumeData"

/// A file lies outside the area that the system considers safe.
public let NSURLErrorFileOutsideSafeArea = -1104

/// The number of bytes of a transfer whose length is not known: -1.
public let NSURLSessionTransferSizeUnknown: Int64 = -1

extension URLError {
  /// The request needed a secure connection and did not ask for one.
  public static var appTransportSecurityRequiresSecureConnection: Code { .appTransportSecurityRequiresSecureConnection }

  /// The resource is longer than what may be loaded.
  public static var dataLengthExceedsMaximum: Code { .dataLengthExceedsMaximum }

  /// Why the system cancelled a background transfer.
  public enum BackgroundTaskCancelledReason: Int, Sendable {
    /// The user ended it, and not the app: here, by cancelling the transfer with `urlsession`. An app that is killed has its
    /// transfers go on.
    case userForceQuitApplication = 0
    /// The user does not let the app work in the background. Does not occur on Linux.
    case backgroundUpdatesDisabled = 1
    /// The system had not the means to go on: here, the transfer service ended unexpectedly again and again while it ran the
    /// transfer.
    case insufficientSystemResources = 2
  }

  /// Which policy excluded the only networks there were.
  public enum NetworkUnavailableReason: Int, Sendable {
    /// `allowsCellularAccess` is false, and the network is a mobile one.
    case cellular = 0
    /// `allowsExpensiveNetworkAccess` is false, and the network costs money.
    case expensive = 1
    /// `allowsConstrainedNetworkAccess` is false, and the network is marked as metered.
    case constrained = 2
    /// `allowsUltraConstrainedNetworkAccess` is false, and the network is a very narrow one. Does not occur on Linux.
    case ultraConstrained = 3
  }

  /// Why the system cancelled the background transfer; nil when it did not.
  public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? {
    number(NSURLErrorBackgroundTaskCancelledReasonKey).flatMap(BackgroundTaskCancelledReason.init)
  }

  /// Which policy excluded the only networks there were; nil when none did.
  public var networkUnavailableReason: NetworkUnavailableReason? {
    number(NSURLErrorNetworkUnavailableReasonKey).flatMap(NetworkUnavailableReason.init)
  }

  /// The certificates of the failed handshake; nil when the failure was another one.
  public var failureURLPeerTrust: SecTrust? { userInfo[NSURLErrorFailingURLPeerTrustErrorKey] as? SecTrust }

  /// The data with which `downloadTask(withResumeData:)` continues the failed download; nil when it cannot be
  /// continued.
  public var downloadTaskResumeData: Data? { userInfo[NSURLSessionDownloadTaskResumeData] as? Data }

  /// The data with which `uploadTask(withResumeData:)` continues the failed upload; nil when it cannot be continued.
  public var uploadTaskResumeData: Data? { userInfo[NSURLSessionUploadTaskResumeData] as? Data }

  private func number(_ key: String) -> Int? { userInfo[key] as? Int ?? (userInfo[key] as? NSNumber)?.intValue }
}
